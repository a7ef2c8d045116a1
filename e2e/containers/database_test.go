package containers

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The binary as it is built, on this machine, with a database in a container.
func TestDatabase_InAContainer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	dir := t.TempDir()
	config := filepath.Join(dir, "bellhop.yaml")
	if err := os.WriteFile(config, []byte("listen: 127.0.0.1:0\nagents:\n  - {type: sh, command: [sh, -c], mode: exec}\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	bellhop := func(args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(programs, "bellhop"), args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "DATABASE_URL="+b.url)
		return cmd
	}
	var said strings.Builder
	serve := bellhop("serve", "-c", config)
	serve.Stderr = &said
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = serve.Process.Signal(os.Interrupt)
		if err := serve.Wait(); err != nil || t.Failed() {
			t.Errorf("serve: %v\n%s", err, said.String())
		}
	})
	b.eventually("the schema is there", func() bool { return bellhop("instances").Run() == nil })
	for _, job := range []struct {
		args, code string
	}{{"echo out", "0"}, {"exit 3", "3"}} {
		id, _ := bellhop("submit", "sh", job.args, "--wait").Output() // 1 for the job that fails
		code, _ := bellhop("exit-code", strings.TrimSpace(string(id))).Output()
		if got := strings.TrimSpace(string(code)); got != job.code {
			t.Errorf("job %q of %q ended with %q, not %q", id, job.args, got, job.code)
		}
	}
	if out, err := bellhop("logs", "1").Output(); err != nil || strings.TrimSpace(string(out)) != "out" {
		t.Errorf("logs: %q, %v", out, err)
	}
	var version string
	if err := b.query.QueryRow(t.Context(), "show server_version").Scan(&version); err != nil {
		t.Fatal(err)
	}
	t.Logf("PostgreSQL %s", version)
}

// The database is killed and is there again before the lease of who works is
// over: the work goes on, and nothing is begun twice.
func TestDatabase_KilledForAMoment(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.scheduler("one", b.local(3))
	b.submit(3, "hold")
	b.waitBegun("one", 3)
	b.db.kill()
	b.db.boot()
	b.waitDatabase()
	b.letGo()
	b.waitAll(3)
}

// The database is gone for longer than the lease: what an instance runs is dead
// before anybody could be given it, and is begun anew when the database is back.
func TestDatabase_GoneForLongerThanTheLease(t *testing.T) {
	t.Parallel()
	for name, loss := range map[string]struct{ lose, mend func(*node) }{
		"killed":  {(*node).kill, (*node).boot},
		"cut off": {(*node).cut, (*node).connect},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.scheduler("one", b.local(3))
			b.submit(3, "hold")
			b.waitBegun("one", 3)
			loss.lose(b.db)
			b.within("the agents are dead", b.waitDead(), lag)
			loss.mend(b.db)
			began := time.Now()
			b.waitDatabase()
			b.waitBegun("one", 6)
			b.within("the jobs run again", time.Since(began), lag+beat)
			b.letGo()
			b.waitAll(3)
		})
	}
}
