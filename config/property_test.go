package config

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Whatever is in a file: Parse does not panic, and it gives either a
// configuration that keeps its promises or problems in file order.
func checkParse(t interface{ Errorf(string, ...any) }, text []byte) {
	c, err := Parse("/conf/bellhop.yaml", text)
	if err == nil {
		checkPromises(t, c)
		return
	}
	var problems *Problems
	if !errors.As(err, &problems) || len(problems.List) == 0 {
		t.Errorf("an error that is no list of problems: %#v", err)
		return
	}
	for _, p := range problems.List {
		if p.File != "/conf/bellhop.yaml" || p.Text == "" || p.Line < 0 || (p.Line > 0) != (p.Column > 0) ||
			strings.Contains(p.String(), "\n") {
			t.Errorf("a bad problem: %#v", p)
		}
	}
	if !slices.IsSortedFunc(problems.List, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	}) {
		t.Errorf("not in file order:\n%v", err)
	}
}

func checkPromises(t interface{ Errorf(string, ...any) }, c Config) {
	if c.Instance.Heartbeat <= 0 || c.Instance.Lag < 3*c.Instance.Heartbeat || c.Instance.Grace < 0 {
		t.Errorf("instance %+v", c.Instance)
	}
	if l := c.Limits; l.Deaths < 0 || l.Window <= 0 || l.Idle < 0 || l.MinReady < 0 || l.KillAfter <= 0 ||
		l.StartTimeout <= 0 {
		t.Errorf("limits %+v", l)
	}
	seen := map[string]bool{}
	for _, h := range c.Hosts {
		if h.Name == "" || seen["host "+string(h.Name)] || h.Slots < 0 {
			t.Errorf("host %+v of %+v", h, c.Hosts)
		}
		seen["host "+string(h.Name)] = true
	}
	for _, a := range c.Agents {
		if a.Type == "" || seen[string(a.Type)] || a.Max < 0 || a.MaxPerHost < 0 || a.Timeout < 0 {
			t.Errorf("agent %+v of %+v", a, c.Agents)
		}
		seen[string(a.Type)] = true
		if len(a.Command) == 0 || a.Command[0] == "" || strings.Contains(a.Command[0], "/") && !filepath.IsAbs(a.Command[0]) {
			t.Errorf("command %q", a.Command)
		}
		if a.WorkDir != "" && !filepath.IsAbs(a.WorkDir) {
			t.Errorf("workdir %q", a.WorkDir)
		}
		if !slices.Contains(modes, string(a.Mode)) || !slices.Contains(dialects, string(a.Dialect)) {
			t.Errorf("mode %q, dialect %q", a.Mode, a.Dialect)
		}
	}
}

// pieces are what files are made of, good and bad.
var pieces = []string{
	"database", "url", "instance", "name", "heartbeat", "lag", "limits", "idle", "hosts", "slots", "connect", "only_types",
	"agents", "type", "command", "mode", "dialect", "max", "env", "vars", "workdir", "user", "timeout", "production", "listen", "token_file",
	": ", ":", "- ", "\n", "\n  ", "\n    ", "\n- ", "\n  - ", "{", "}", "[", "]", ", ", "'", `"`, "|\n", ">\n", "? ", "#",
	"\t", "\r\n",
	"&x ", "*x", "!!str ", "<<: ", "---\n", "...\n", "%YAML 1.2\n", "~", "true", "10s", "1h", "7", "-1", "0x10", "1.5", ".nan", "a", "./a",
	"license", "local", "exec", "json", "LD_*", "PATH", "é", "\x00", "\xff", "\\", "`", "@", "\ufeff", "99999999999999999999",
}

func TestParse_NeverPanicsOnPieces(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		checkParse(t, []byte(strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 40).Draw(t, "text"), "")))
	})
}

// Shapes that are right as YAML, with values of every kind in every place.
func TestParse_NeverPanicsOnWrongTypes(t *testing.T) {
	t.Parallel()
	values := rapid.SampledFrom([]string{
		`""`, "a", "7", "-7", "1.5", "99999999999999999999", "true", "~", "10s", "-1s", "0s", "[]", "[a, ~, [b], {c: d}]", "{}", "{a: 1, b: [], c: ~}",
		"&v a", "*v", "!t a", `"\0"`, "[./a]", "exec", "json", "[PATH, '*', '[', LD_*]", "{a: &v b, c: *v}", "[*v]", "{<<: {a: b}}", "[{name: a}, {name: a}]",
	})
	rapid.Check(t, func(t *rapid.T) {
		var text strings.Builder
		section := func(head string, keys ...string) {
			text.WriteString(head)
			for _, k := range keys {
				if rapid.Bool().Draw(t, k) {
					text.WriteString("    " + k + ": " + values.Draw(t, k+" value") + "\n")
				}
			}
		}
		section("database:\n", "url", "listen_url", "msq_url", "attach_url")
		section("instance:\n", "name", "heartbeat", "lag", "grace")
		section("limits:\n", "deaths", "window", "idle", "min_ready", "kill_after", "start_timeout", "db_timeout", "silence", "alive_every", "alive_checks")
		section("hosts:\n  -\n", "name", "slots", "connect", "serves", "only_types", "only_priorities")
		section("agents:\n  -\n", "type", "command", "mode", "dialect", "max", "max_per_host", "env", "vars", "workdir", "user", "timeout")
		for _, k := range []string{"production", "commands_from_database", "listen", "token_file"} {
			text.WriteString(k + ": " + values.Draw(t, k) + "\n")
		}
		checkParse(t, []byte(text.String()))
	})
}

func FuzzParse(f *testing.F) {
	for _, c := range badFiles {
		if len(c.text) <= maxSize { // a huge seed only keeps the fuzzer busy making it smaller
			f.Add([]byte(c.text))
		}
	}
	f.Add([]byte(strings.Join(pieces, "")))
	f.Fuzz(func(t *testing.T, text []byte) { checkParse(t, text) })
}
