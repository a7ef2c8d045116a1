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

// handedVars is how the shipped submit of an engine hands a job's vars on.
var handedVars = map[string]struct {
	prefix string   // of the variable that holds a var, so that neither the script nor the engine's program goes by it
	own    []string // patterns of what the engine goes by itself: a type has to name such a var in full
	most   int      // bytes that names and values may have; 0: as many as there are
}{
	// docker run takes the value from a variable of the same name.
	"docker":     {own: []string{"DOCKER_*", "*_PROXY", "*_proxy"}, most: handedMost},
	"slurm":      {own: []string{"SBATCH_*", "SLURM_*"}}, // sbatch hands its whole environment on
	"kubernetes": {prefix: "BELLHOP_VAR_", most: handedMost},
	"spark":      {prefix: "BELLHOP_VAR_", own: []string{"SPARK_*", "PYSPARK_*", "HADOOP_*", "YARN_*"}, most: handedMost},
}

// shellsOwn are variables that a shell sets itself: without a prefix, the program would get the shell's value.
var shellsOwn = []string{"PWD", "OLDPWD", "PPID", "OPTIND", "SHLVL", "UID", "EUID", "_"}

// handedMost is how many bytes the vars may have that become words of a command line: quoted for YARN they may be three
// times as long, and a word has at most 128 KiB.
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
		if hand.prefix == "" && slices.Contains(shellsOwn, name) {
			return nil, "", fmt.Errorf("vars_refused: the shell that submits to %s sets var %q itself; "+
				"submit the job with another name", e.Shipped, name)
		}
		handed[hand.prefix+name] = vars[name]
		size += len(name) + len(vars[name])
	}
	if hand.most > 0 && size > hand.most {
		return nil, "", fmt.Errorf("vars_refused: the vars have %d bytes, and %s takes at most %d; "+
			"put the rest into a file, and submit its path", size, e.Shipped, hand.most)
	}
	return handed, strings.Join(names, "\n"), nil
}
