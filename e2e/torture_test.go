package e2e

import (
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"bellhop/pgdev/pgtest"
)

var tortureLast = regexp.MustCompile(`(?m)^jobs=[1-9]\d* faults=[1-9]\d* histories=1 violations=0 seed=\d+\n\z`)

// leftOfTorture lists databases that a torture has made on a server.
func (e *env) leftOfTorture() []string {
	e.t.Helper()
	return column[string](e, "select datname from pg_database where datname like 'bellhop\\_torture\\_%'")
}

// On a user's server a torture makes its own databases, holds one history against all invariants, and leaves nothing.
func TestTorture_OnAUsersServer(t *testing.T) {
	t.Parallel()
	_, e := setupOwn(t)
	for _, fault := range []string{"serve-killed", "sessions-ended"} {
		out := e.ok("torture", "--minutes", "0.001", "--fault", fault, e.url)
		if !tortureLast.MatchString(out) || !strings.Contains(out, fault) {
			t.Errorf("%s says\n%s", fault, out)
		}
	}
	if left := e.leftOfTorture(); len(left) > 0 {
		t.Errorf("it has left %q", left)
	}
	if n := value[int](e, "select count(*) from bellhop.jobqueue"); n != 0 {
		t.Errorf("the user's own queue has %d jobs", n)
	}
}

// Without a server it starts one, and a standby where the fault needs it; a folder that is named, here from where the
// command is typed, keeps the evidence, and recordings for the models.
func TestTorture_OnAServerOfItsOwn(t *testing.T) {
	t.Parallel()
	e := setup(t)
	folder := e.dir + "/kept"
	r := e.run("torture", "--minutes", "0.001", "--fault", "promotion-synchronous", "--keep", "kept", "--record",
		"--markdown", folder+"/table")
	if r.code != 0 || !tortureLast.MatchString(r.stdout) {
		t.Errorf("it ends with %d and says\n%s\n%s", r.code, r.stdout, r.stderr)
	}
	if book, err := os.ReadFile(folder + "/history-1-promotion-synchronous/journal/book"); err != nil || len(book) == 0 {
		t.Errorf("the journal: %v", err)
	}
	if seen, err := os.ReadFile(folder + "/history-1-promotion-synchronous.recording"); err != nil ||
		!strings.HasPrefix(string(seen), "fault promotion-synchronous\n") {
		t.Errorf("the recording: %v: %s", err, r.stderr)
	}
	if table, err := os.ReadFile(folder + "/table"); err != nil || !strings.Contains(string(table), "| ends | proven |") {
		t.Errorf("the table: %s, %v", table, err)
	}
}

// What is typed wrong, and a server that cannot be used, are refused in words, with their exit codes.
func TestTorture_Refuses(t *testing.T) {
	t.Parallel()
	_, e := setupOwn(t)
	e.sql("create role weak login password 'weak'")
	weak, err := url.Parse(e.url)
	if err != nil {
		t.Fatal(err)
	}
	weak.User = url.UserPassword("weak", "weak")
	for name, c := range map[string]struct {
		args []string
		code int
		says string
	}{
		"an unknown fault":        {[]string{"--fault", "rain"}, 2, `there is no fault "rain"`},
		"no time":                 {[]string{"--minutes", "0"}, 2, "--minutes is above 0"},
		"recordings for no place": {[]string{"--record"}, 2, "--record writes to the folder of --keep"},
		"no server":               {[]string{"postgres://a@127.0.0.1:1/a"}, 5, "cannot connect to 127.0.0.1:1"},
		"a login without rights":  {[]string{weak.String()}, 6, "create database"},
	} {
		if r := e.run(append([]string{"torture"}, c.args...)...); r.code != c.code || !strings.Contains(r.stderr, c.says) {
			t.Errorf("%s: exit code %d, %s", name, r.code, r.stderr)
		}
	}
	if left := e.leftOfTorture(); len(left) > 0 {
		t.Errorf("it has left %q", left)
	}
}

// A torture that is interrupted drops its databases, and ends its instances and agents. One that is killed leaves
// databases, but no process.
func TestTorture_Interrupted(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]syscall.Signal{"interrupted": syscall.SIGINT, "killed": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, e := setupOwn(t)
			folder := t.TempDir()
			cmd := exec.Command(binary, "torture", "--fault", "snapshot-held", "--keep", folder, e.url)
			cmd.Env = environment(e.dir)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			pgtest.Eventually(t, patience, "agents work", func() bool {
				_, err := os.Stat(folder + "/history-1-snapshot-held/journal/book")
				return err == nil
			})
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			err := cmd.Wait()
			if signal == syscall.SIGINT {
				if cmd.ProcessState.ExitCode() != 130 {
					t.Errorf("it ends with %v", err)
				}
				if left := e.leftOfTorture(); len(left) > 0 {
					t.Errorf("it has left %q", left)
				}
			}
			pgtest.Eventually(t, patience, "no instance and no agent is left", func() bool {
				return !anyProcess(t, "environ", "BELLHOP_TORTURE="+folder) && !anyProcess(t, "cmdline", folder)
			})
		})
	}
}

// anyProcess reports whether a process has this in a file of /proc.
func anyProcess(t *testing.T, file, text string) bool {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/" + file)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		if said, err := os.ReadFile(path); err == nil && strings.Contains(string(said), text) {
			return true
		}
	}
	return false
}
