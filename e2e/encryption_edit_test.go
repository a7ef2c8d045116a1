package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEncryption_AnEditSealsOrIsRefused: bellhop edit seals with the key of the job, from a file that is named or that
// the configuration names. A command without keys is refused, and nothing of its text is in the job.
func TestEncryption_AnEditSealsOrIsRefused(t *testing.T) {
	t.Parallel()
	e := setup(t)
	keys, other := filepath.Join(e.dir, "keys"), filepath.Join(e.dir, "other")
	e.ok("key", "new", keys, "--id", "old")
	e.ok("key", "new", other, "--id", "strange")
	i := e.serve(e.sealedAgents(keys))
	id := strings.TrimSpace(e.ok("submit", "json", "first", "--var", "SECRET=one", "--var", "CUSTOMER=1", "--plain", "CUSTOMER",
		"--at", "+1h", "--seal-with", keys))
	e.ok("key", "new", keys, "--id", "new") // it seals from now on, and the job's key is still there

	for _, c := range []struct {
		args []string
		says []string
	}{
		{
			[]string{"--args", "xyzzy"},
			[]string{"job " + id + " is sealed, and its new args would be plain text", "bellhop edit " + id + " … --seal-with FILE",
				"bellhop key seal json --keys FILE"},
		},
		{
			[]string{"--var", "SECRET=xyzzy"},
			[]string{"its new var SECRET would be plain text", "bellhop key seal json vars.SECRET --keys FILE"},
		},
		{
			[]string{"--args", "xyzzy", "--seal-with", other},
			[]string{"sealed with key old, and the keys here are strange", "a file that has key old"},
		},
		{[]string{"--priority", "3", "--seal-with", keys}, []string{"there is nothing to seal"}},
		{[]string{"--args", "xyzzy", "--seal-with", "nowhere"}, []string{"bellhop key new"}},
		{[]string{"--args", "a\nb", "--seal-with", keys}, []string{"line break"}},
	} {
		r := e.run(append([]string{"edit", id}, c.args...)...)
		if r.code != 2 || strings.Contains(r.stderr, "xyzzy") {
			t.Errorf("%q: exit code %d: %s", c.args, r.code, r.stderr)
		}
		has(t, r.stderr, c.says...)
	}
	if n := value[int](e, `select count(*) from bellhop.jobqueue where args = 'xyzzy' or vars::text like '%xyzzy%'`); n != 0 {
		t.Error("what was refused is in the job")
	}

	e.ok("edit", id, "--args", "second", "--var", "SECRET=two", "--var", "CUSTOMER=2", "--var", "LANG=cs",
		"--seal-with", keys)
	e.ok("edit", "-t", "json", "--args", "third", "-c", i.config) // its file
	e.ok("edit", id, "--args", e.sealed(keys, "json", "args", "fourth"))
	text := value[string](e, "select args || vars::text from bellhop.jobqueue where id = $1", id)
	if strings.Count(text, "bellhop:sealed:1:old:") != 2 || strings.Count(text, "bellhop:sealed:1:new:") != 1 ||
		!strings.Contains(text, `"CUSTOMER": "2"`) {
		t.Errorf("it has %s", text)
	}
	e.ok("edit", id, "--args", "fifth", "-c", i.config)
	e.ok("reload")
	e.ok("edit", id, "--at", "now")
	var n int64
	if _, err := fmt.Sscan(id, &n); err != nil {
		t.Fatal(err)
	}
	e.waitState(n, "succeeded")
	has(t, strings.Join(e.lines("got"), "\n"), "fifth", `"SECRET":"two"`, `"CUSTOMER":"2"`, `"LANG":"cs"`)

	// A job that was never sealed is left plain, unless it is asked for.
	plain := strings.TrimSpace(e.ok("submit", "json", "open", "--at", "+1h"))
	e.ok("edit", plain, "--args", "still open", "-c", i.config)
	if args := value[string](e, "select args from bellhop.jobqueue where id = $1", plain); args != "still open" {
		t.Errorf("it has %s", args)
	}
	e.ok("edit", plain, "--args", "shut", "--seal-with", keys)
	has(t, e.ok("show", plain), "sealed with key ")
	if err := os.Remove(keys); err != nil {
		t.Fatal(err)
	}
	if r := e.run("edit", plain, "--args", "xyzzy", "-c", i.config); r.code != 2 || !strings.Contains(r.stderr, "would be plain text") {
		t.Errorf("without the file of the configuration: %+v", r)
	}
}
