package config

import (
	"errors"
	"fmt"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"bellhop/scheduler"
	"bellhop/scheduler/lock"
)

// Mode is how an agent is run.
type Mode string

const (
	ModeWarm Mode = "warm" // stays up and speaks a dialect
	ModeExec Mode = "exec" // one process per job, its exit code is the result
	// ModeEngine: the work runs elsewhere, and commands submit, find, poll and kill it.
	ModeEngine Mode = "engine"
)

// Dialect is what a warm agent speaks.
type Dialect string

const (
	DialectAuto      Dialect = "auto" // classic or json, told by the first line
	DialectClassic   Dialect = "classic"
	DialectJSON      Dialect = "json"
	DialectFOSSology Dialect = "fossology"
)

// Stdout says what an agent of mode exec writes there, besides lines for the log.
type Stdout string

const (
	StdoutLog    Stdout = "log"    // nothing else
	StdoutResult Stdout = "result" // what the job gives back: all of it
	StdoutJSON   Stdout = "json"   // messages of the json dialect among them
)

var (
	stdouts  = []string{string(StdoutLog), string(StdoutResult), string(StdoutJSON)}
	modes    = []string{string(ModeWarm), string(ModeExec), string(ModeEngine)}
	dialects = []string{string(DialectAuto), string(DialectClassic), string(DialectJSON), string(DialectFOSSology)}
)

// Agent is a program that does one type of work.
type Agent struct {
	Type scheduler.TypeName
	// Command is the program and its arguments. A program without a slash is
	// looked up on PATH; any other is absolute here, and one that was written
	// relative is taken from the file's folder.
	Command    []string
	Mode       Mode
	Dialect    Dialect                // of mode warm
	Max        int                    // children at once over all instances; 0: no limit of its own
	MaxPerHost int                    // children at once on one host; 0: no limit of its own
	Slots      int                    // that a child takes of its host, 1 …
	Resources  scheduler.Resources    // that a child holds of its host, besides slots
	Memory     int64                  // bytes that a child takes at most, with what descends from it; 0: no limit
	CPU        float64                // the same in processors; 0: no limit
	Weight     int                    // of its share of a host's slots while other types wait, 1 … scheduler.MostWeight
	Env        map[string]string      // besides PATH, HOME, LANG, TMPDIR
	Vars       []string               // names, or path.Match patterns, of job vars it takes
	WorkDir    string                 // absolute, or empty: the instance's own
	User       string                 // account to drop to; empty: the instance's own
	Timeout    time.Duration          // of a job or item that brings none of its own; 0: none
	Locks      []string               // templates of the locks that each of its jobs needs
	Share      lock.ShareTemplate     // of its jobs that come without one
	DB         bool                   // what it says with DB: is run on Database.DBURL
	Stdout     Stdout                 // of mode exec; empty: log
	Retry      *scheduler.RetryPolicy // nil: scheduler.DefaultRetry
	Ends       scheduler.Ends         // of modes exec and engine: exit codes that are no failures
	FOSSology  FOSSology              // of dialect fossology
	Engine     Engine                 // of mode engine
}

// FOSSology are the options of an agent of the fossology dialect.
type FOSSology struct {
	Config    string // what its --config names; empty: FO_SYSCONFDIR
	Exclusive bool   // nothing else runs on the instance beside it
	Local     bool   // on the instance's own machine only
	NoKill    bool   // not killed for want of a heartbeat
	NoEmail   bool   // what it has to say by mail is dropped
	Verbose   int    // sent as VERBOSE N; 0: nothing is sent
}

func (r *reader) agents(n node, at string, to *[]Agent) {
	*to = nil
	lines := map[scheduler.TypeName]int{}
	r.each(n, at, "write it like - {type: license, command: [./agents/license]}", func(n node, at string) {
		a := Agent{Mode: ModeWarm, Dialect: DialectAuto, Slots: 1, Weight: 1, Engine: defaultEngine()}
		given := r.mapping(n, at, append(r.agentFields(&a), r.engineFields(&a.Engine)...))
		if r.engine(n, at, &a, given); a.Mode != ModeEngine {
			a.Engine = Engine{}
		}
		r.checkLockVars(given["locks"], at, &a)
		r.checkVars(given["share"], at+".share: "+a.Share.Text(), at, &a, a.Share.Vars())
		if a.Mode == ModeExec && a.Dialect != DialectAuto {
			r.problem(given["dialect"], "leave it out, or write mode: warm", "%s.dialect: an agent of mode exec speaks none", at)
		}
		if a.DB && (a.Mode == ModeExec || a.Dialect != DialectClassic && a.Dialect != DialectAuto) {
			r.problem(given["db"], "leave it out, or write dialect: classic",
				"%s.db: only agents of dialect classic can say DB:", at)
		}
		if a.Stdout != "" && a.Mode != ModeExec {
			r.problem(given["stdout"], "leave it out, or write mode: exec", "%s.stdout: only agents of mode exec have it", at)
		}
		if a.Ends != nil && a.Mode != ModeExec && a.Mode != ModeEngine {
			r.problem(given["ends"], `leave it out, and have the agent say {"ok":true,"ended_as":"no_data"}`,
				"%s.ends: only agents of mode exec and engine have it", at)
		}
		for _, name := range fossologyKeys {
			if n := given[name]; n != nil && a.Dialect != DialectFOSSology {
				r.problem(n, "leave it out, or write dialect: fossology", "%s.%s: only agents of dialect fossology have it", at,
					name)
			}
		}
		if first := lines[a.Type]; first > 0 {
			r.problem(given["type"], "", "%s.type: an agent of type %q is already on line %d", at, a.Type, first)
		} else if a.Type != "" {
			lines[a.Type], _ = position(given["type"])
		}
		r.noteUses(given, at, a.Mode, len(*to))
		r.noteLimits(given, at, a.Mode)
		*to = append(*to, a)
	})
}

func (r *reader) agentFields(a *Agent) []field {
	return []field{
		{name: "type", required: true, read: func(n node, at string) {
			if s, ok := r.string(n, at); ok {
				a.Type = scheduler.TypeName(s) // known even if it is wrong: what uses it is not wrong too
				r.checkTypeName(n, at, s)
			}
		}},
		{name: "command", required: true, unless: func() bool { return a.Mode == ModeEngine }, read: r.command(&a.Command)},
		{name: "mode", read: r.oneOf("mode", modes, func(s string) { a.Mode = Mode(s) })},
		{name: "dialect", read: r.oneOf("dialect", dialects, func(s string) { a.Dialect = Dialect(s) })},
		{name: "max", read: r.count(&a.Max)},
		{name: "max_per_host", read: r.count(&a.MaxPerHost)},
		{name: "slots", read: r.slots(&a.Slots)},
		{name: "resources", read: r.resources(&a.Resources, 1)},
		{name: "memory", read: r.memory(&a.Memory)},
		{name: "cpu", read: r.cpu(&a.CPU)},
		{name: "weight", read: r.weight(&a.Weight)},
		{name: "env", read: r.env(&a.Env)},
		{name: "vars", read: r.words(&a.Vars, "[USERID]", r.checkVar)},
		{name: "workdir", read: r.pathName(&a.WorkDir)},
		{name: "user", read: r.account(&a.User)},
		{name: "timeout", read: r.duration(&a.Timeout, maybeNone)},
		{name: "db", read: r.flag(&a.DB)},
		{name: "stdout", read: r.oneOf("stdout", stdouts, func(s string) { a.Stdout = Stdout(s) })},
		{name: "retry", read: r.retry(&a.Retry)},
		{name: "ends", read: r.ends(&a.Ends)},
		{name: "locks", read: r.locks(&a.Locks)},
		{name: "share", read: r.share(&a.Share)},
		{name: "config", read: r.pathName(&a.FOSSology.Config)},
		{name: "exclusive", read: r.flag(&a.FOSSology.Exclusive)},
		{name: "local", read: r.flag(&a.FOSSology.Local)},
		{name: "nokill", read: r.flag(&a.FOSSology.NoKill)},
		{name: "noemail", read: r.flag(&a.FOSSology.NoEmail)},
		{name: "verbose", read: r.count(&a.FOSSology.Verbose)},
	}
}

// weight reads a share: no type is without one.
func (r *reader) weight(to *int) func(node, string) {
	return func(n node, at string) {
		read := 1
		if r.count(&read)(n, at); read < 1 || read > scheduler.MostWeight {
			r.problem(n, fmt.Sprintf("write a number from 1 to %d", scheduler.MostWeight), "%s is %d", at, read)
			return
		}
		*to = read
	}
}

// fossologyKeys are the keys that mean something to one dialect only.
var fossologyKeys = []string{"config", "exclusive", "local", "nokill", "noemail", "verbose"}

func (r *reader) checkTypeName(n node, at, s string) {
	if why, next := scheduler.CheckType(s); why != "" {
		r.problem(n, next, "%s: %s", at, why)
	}
}

func (r *reader) oneOf(what string, known []string, set func(string)) func(node, string) {
	return func(n node, at string) {
		s, ok := r.string(n, at)
		switch {
		case !ok:
		case slices.Contains(known, s):
			set(s)
		default:
			r.problem(n, suggest(s, known), "%s: unknown %s %q", at, what, s)
		}
	}
}

// argv reads a command as a list of words.
func (r *reader) argv(to *[]string, key, example string) func(node, string) {
	return func(n node, at string) {
		if s, ok := stringOf(n); ok {
			switch words := strings.Fields(s); {
			case strings.ContainsAny(s, shellSigns):
				example = list([]string{"sh", "-c", s})
			case len(words) > 0:
				example = list(words)
			}
			r.problem(n, "write "+key+": "+example, "%s must be a list, not a string", at)
			return
		}
		*to = nil
		r.each(n, at, "write "+key+": "+example, func(n node, at string) {
			s, ok := r.written(n, at)
			if ok && s == "" && len(*to) == 0 {
				r.problem(n, "", "%s is empty where the program should be", at)
			}
			*to = append(*to, s)
		})
	}
}

// shellSigns mean something to a shell; a string with one of them is more than words.
const shellSigns = "\"'`$|&;<>()*?\\\n#~"

// list writes words as a YAML list in one line.
func list(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		if quoted[i] = w; !plainWord.MatchString(w) {
			quoted[i] = strconv.Quote(w)
		}
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./-][A-Za-z0-9_./=+:-]*$`)

func (r *reader) command(to *[]string) func(node, string) {
	return r.program(to, "command", "[./agents/license]")
}

// program reads a command whose program, where it is a path, is taken from the file's folder.
func (r *reader) program(to *[]string, key, example string) func(node, string) {
	return func(n node, at string) {
		r.argv(to, key, example)(n, at)
		words, ok := n.(*ast.SequenceNode)
		if !ok {
			return
		}
		if len(words.Values) == 0 {
			r.problem(n, "write "+key+": "+example, "%s is empty", at)
		}
		if c := *to; len(c) > 0 && strings.Contains(c[0], "/") {
			r.absolute(words.Values[0], at+"[0]", &c[0])
		}
	}
}

// absolute takes a relative path from the file's folder.
func (r *reader) absolute(n node, at string, path *string) {
	if strings.HasPrefix(*path, "~") {
		r.problem(n, "write the path out", "%s: ~ is not expanded", at)
		return
	}
	if !filepath.IsAbs(*path) {
		*path = filepath.Join(r.folder, *path)
	}
}

func (r *reader) pathName(to *string) func(node, string) {
	return func(n node, at string) {
		s, ok := r.string(n, at)
		if ok && s != "" {
			r.absolute(n, at, &s)
		}
		*to = s
	}
}

func (r *reader) account(to *string) func(node, string) {
	return func(n node, at string) {
		s, ok := r.string(n, at)
		if !ok || s == "" {
			return
		}
		if _, err := user.Lookup(s); err != nil {
			if _, byID := user.LookupId(s); byID != nil {
				hint := "create it (useradd --system), or leave user out to run as the instance does"
				if unknown := user.UnknownUserError(""); !errors.As(err, &unknown) {
					hint = err.Error()
				}
				r.problem(n, hint, "%s: no account %q on this machine", at, s)
				return
			}
		}
		*to = s
	}
}

// env reads names and values of environment variables.
func (r *reader) env(to *map[string]string) func(node, string) {
	return r.pairs(to, "env: {LANG: C.UTF-8}")
}

// named reads names and what they stand for, each name once, and returns how many names there are. what and example
// are for the error of a value that is no map.
func (r *reader) named(n node, at, what, example string, do func(key node, name string, value node)) int {
	m, ok := n.(ast.MapNode)
	if !ok {
		r.problem(n, "write it like "+example, "%s must hold names and %s, not %s", at, what, kind(n))
		return 0
	}
	lines := map[string]int{}
	for it := m.MapRange(); it.Next(); {
		name, ok := r.key(it.Key(), at)
		if !ok {
			continue
		}
		if first := lines[name]; first > 0 {
			r.problem(it.Key(), "", "duplicate key %q%s, first on line %d", name, in(at), first)
			continue
		}
		lines[name], _ = position(it.Key())
		do(it.Key(), name, r.resolve(it.Value()))
	}
	return len(lines)
}

// pairs reads names and values.
func (r *reader) pairs(to *map[string]string, example string) func(node, string) {
	return func(n node, at string) {
		vars := map[string]string{}
		r.named(n, at, "values", example, func(key node, name string, value node) {
			if name == "" || strings.ContainsAny(name, "=\x00") {
				r.problem(key, "", "%s: %q is not a valid name of a variable: it is empty, or holds = or a zero byte", at, name)
			}
			if value == nil {
				return
			}
			if s, ok := r.written(value, join(at, name)); ok {
				vars[name] = s
			}
		})
		*to = vars
	}
}
