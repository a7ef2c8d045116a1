package doctor

import "runtime"

// systems is docs/platforms.md in one sentence each: what this system cannot promise. A test compares them.
var systems = map[string]string{
	"linux": "",
	"darwin": "agents that outlive a killed guard are found by session and environment; those of programs that " +
		"leave both are not",
	"windows": "no instance serves here: commands work on a database elsewhere",
}

// checkSystem says what this system keeps of what Linux promises.
func (d *doctor) checkSystem() {
	lacks, known := systems[runtime.GOOS]
	switch name := runtime.GOOS + "/" + runtime.GOARCH; {
	case !known:
		d.note("system", name+" is not among the systems that are built and tested", "see docs/platforms.md")
	case lacks != "":
		d.note("system", name+": "+lacks, "see docs/platforms.md")
	default:
		d.ok("system", name+": all that docs/platforms.md promises")
	}
}
