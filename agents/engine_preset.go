package agents

import (
	"embed"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

//go:embed engines/*.sh
var enginePresets embed.FS

// EnginePreset is the command by which a shipped engine does one thing; nil: there is no such engine.
func EnginePreset(name, op string) []string {
	script, err := enginePresets.ReadFile("engines/" + name + ".sh")
	if err != nil {
		return nil
	}
	return []string{"sh", "-c", string(script), name, op}
}

// handedVars is how the shipped submit of an engine hands a job's vars on. Slurm is not here: sbatch hands its whole
// environment on by itself.
var handedVars = map[string]struct {
	prefix string   // of the variable that holds a var, so that neither the script nor the engine's program goes by it
	own    []string // patterns of what the engine goes by itself: a type has to name such a var in full
}{
	"docker":     {own: []string{"DOCKER_*"}}, // docker run takes the value from a variable of the same name
	"kubernetes": {prefix: "BELLHOP_VAR_"},
	"spark":      {prefix: "BELLHOP_VAR_", own: []string{"SPARK_*", "PYSPARK_*", "HADOOP_*", "YARN_*"}},
}

// handedMost is how many bytes the names and values of a job's vars may have. Quoted for YARN they may be three times
// as long, and a word of a command line has at most 128 KiB.
const handedMost = 32 << 10

// handedName is a name that every shell knows as one of a variable.
var handedName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// handVars are the variables by which submit gets a job's vars, and the names of the vars, a line each.
func (e *EngineCommands) handVars(allowed []string, vars map[string]string) (map[string]string, string, error) {
	hand, is := handedVars[e.Shipped]
	if !is {
		return vars, "", nil
	}
	names, size := slices.Sorted(maps.Keys(vars)), 0
	handed := make(map[string]string, len(vars))
	for _, name := range names {
		if !handedName.MatchString(name) {
			return nil, "", fmt.Errorf("vars_refused: %s takes no var %q: its name holds more than letters, digits and _, "+
				"or begins with a digit; submit the job with another name", e.Shipped, name)
		}
		own := func(pattern string) bool { ok, _ := path.Match(pattern, name); return ok }
		if slices.ContainsFunc(hand.own, own) && !slices.Contains(allowed, name) {
			return nil, "", fmt.Errorf("vars_refused: %s itself goes by var %q; "+
				"name it in full under agents[].vars in bellhop.yaml, or submit without it", e.Shipped, name)
		}
		handed[hand.prefix+name] = vars[name]
		size += len(name) + len(vars[name])
	}
	if size > handedMost {
		return nil, "", fmt.Errorf("vars_refused: the vars have %d bytes, and %s takes at most %d; "+
			"put the rest into a file, and submit its path", size, e.Shipped, handedMost)
	}
	return handed, strings.Join(names, "\n"), nil
}
