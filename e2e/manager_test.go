package e2e

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"bellhop/pgdev/pgtest"
)

// manager is what systemd is to a service: it hears what that says of itself.
type manager struct {
	t    *testing.T
	path string
	mu   sync.Mutex
	said []string
}

func manage(t *testing.T) *manager {
	t.Helper()
	m := &manager{t: t, path: filepath.Join(pgtest.Dir(t), "notify")}
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: m.path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	go func() {
		words := make([]byte, 4096)
		for {
			n, err := socket.Read(words)
			if err != nil {
				return
			}
			m.mu.Lock()
			m.said = append(m.said, string(words[:n]))
			m.mu.Unlock()
		}
	}()
	return m
}

// heard is how often it was told something that begins so.
func (m *manager) heard(begins string) (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, words := range m.said {
		if strings.HasPrefix(words, begins) {
			n++
		}
	}
	return n
}

func (m *manager) wait(begins string, more int) {
	m.t.Helper()
	m.waitAll(begins, m.heard(begins)+more)
}

// waitAll waits until so many have been heard in all: for what may come before
// the test gets to wait for it.
func (m *manager) waitAll(begins string, n int) {
	m.t.Helper()
	pgtest.Eventually(m.t, patience, "serve says "+begins, func() bool { return m.heard(begins) >= n })
}

// serveManaged is b.serve as the manager does it.
func (e *env) serveManaged(m *manager, yaml string) *instance {
	e.t.Helper()
	e.env = []string{"NOTIFY_SOCKET=" + m.path, "WATCHDOG_USEC=600000"}
	return e.serve(yaml)
}

// TestManager_ReadyAliveStopping: the manager hears when the instance can work,
// that it lives while it waits for its database, and that it ends. One that is
// stuck is silent. Its agents know nothing of the manager.
func TestManager_ReadyAliveStopping(t *testing.T) {
	t.Parallel()
	c, e := setupOwn(t)
	m := manage(t)
	i := e.serveManaged(m, quick(2)+agents("type: env, mode: exec, command: [env]"))
	m.wait("READY=1", 1-m.heard("READY=1"))
	m.wait("WATCHDOG=1", 2)
	has(t, e.logged(func() int64 { id := e.insert("type", "env"); e.waitState(id, "succeeded"); return id }()), "BELLHOP_JOB_ID")
	if log := e.logged(1); strings.Contains(log, "NOTIFY_SOCKET") || strings.Contains(log, "WATCHDOG") {
		t.Errorf("the agent may speak for the scheduler:\n%s", log)
	}

	pgtest.Freeze(t, i.cmd.Process.Pid)
	pgtest.Eventually(t, patience, "a stopped instance is silent", func() bool {
		before := m.heard("")
		time.Sleep(600 * time.Millisecond) // what the watchdog waits
		return m.heard("") == before
	})
	i.signal(syscall.SIGCONT)
	m.wait("WATCHDOG=1", 2)

	lost, works := m.heard("STATUS=lease lost"), m.heard("STATUS=works")
	c.Kill()
	m.waitAll("STATUS=lease lost", lost+1)
	m.wait("WATCHDOG=1", 3) // it lives: to end it would help nobody
	e.restart(c, "fast")
	m.waitAll("STATUS=works", works+1)
	if n := m.heard("READY=1"); n != 1 {
		t.Errorf("it was ready %d times", n)
	}

	i.signal(syscall.SIGTERM)
	m.wait("STOPPING=1", 1-m.heard("STOPPING=1"))
	if code := i.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestManager_FinishingIsNotStopping: what finishes its work may take as long
// as that takes, and is watched over until then.
func TestManager_FinishingIsNotStopping(t *testing.T) {
	t.Parallel()
	e := setup(t)
	m := manage(t)
	goOn := filepath.Join(e.dir, "go-on")
	i := e.serveManaged(m, agents("type: slow, mode: exec, command: ["+e.script("slow", "until [ -e "+goOn+" ]; do sleep 0.05; done")+"]"))
	id := e.insert("type", "slow")
	e.waitState(id, "running")
	i.signal(syscall.SIGINT)
	m.wait("STATUS=finishing", 1-m.heard("STATUS=finishing"))
	m.wait("WATCHDOG=1", 3)
	if m.heard("STOPPING=1") > 0 {
		t.Error("the manager would end it after TimeoutStopSec")
	}
	e.file("go-on", "", 0o644)
	if code := i.exit(); code != 0 || e.state(id) != "succeeded" {
		t.Errorf("exit code %d, the job is %s", code, e.state(id))
	}
}

// TestUnit_IsOneThatSystemdTakes: systemd-analyze finds nothing wrong with it.
func TestUnit_IsOneThatSystemdTakes(t *testing.T) {
	t.Parallel()
	e := on(t, pgtest.URL(t))
	config := e.file("bellhop.yaml", "instance: {grace: 1m}\nlimits: {kill_after: 5s}\n", 0o644)
	unit := e.ok("install", "systemd", "--print", "-c", config)
	has(t, unit, "Type=notify", "KillMode=mixed", "TimeoutStopSec=95s", "ExecStart="+binary+" serve -c "+config, "OOMPolicy=continue")

	to := filepath.Join(e.dir, "units")
	if r := e.run("install", "systemd", "-c", config, "--to", to); r.code == 0 || !strings.Contains(r.stderr, "--print") {
		t.Errorf("into a folder that is not there: %+v", r)
	}
	if err := os.Mkdir(to, 0o755); err != nil {
		t.Fatal(err)
	}
	has(t, e.ok("install", "systemd", "-c", config, "--to", to), "systemctl enable --now bellhop")
	e.ok("install", "systemd", "-c", config, "--to", to) // the same again
	if r := e.run("install", "systemd", "-c", config, "--to", to, "--user", "other"); r.code != 2 ||
		!strings.Contains(r.stderr, "differs") {
		t.Errorf("over one that differs: %+v", r)
	}
	written, err := os.ReadFile(filepath.Join(to, "bellhop.service"))
	if err != nil || string(written) != unit {
		t.Errorf("%v, written is:\n%s", err, written)
	}
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("NOT TESTED: the unit as systemd reads it; type `apt-get install systemd`")
	}
	out, err := exec.Command("systemd-analyze", "verify", filepath.Join(to, "bellhop.service")).CombinedOutput()
	if err != nil || strings.Contains(string(out), "bellhop.service") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestUnit_AgentsRunWithItsRestraints: what can be had without systemd of the
// unit's restraints is put on serve; its agents work, and all of them die with it.
func TestUnit_AgentsRunWithItsRestraints(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: the unit's restraints; only root can put them on")
	}
	if _, err := exec.LookPath("setpriv"); err != nil {
		t.Skip("NOT TESTED: the unit's restraints; type `apt-get install util-linux`")
	}
	c, e := setupOwn(t)
	if err := os.Chmod(e.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	config := e.file("bellhop.yaml", "listen: 127.0.0.1:0\n"+agents("type: id, mode: exec, command: [sh, -c, 'id -u; grep -E \"NoNewPrivs|CapBnd\" /proc/self/status; sleep 1000 & echo done']",
		"type: warm, command: ["+e.worker("warm", "echo did $line")+"]"), 0o644)
	serve := exec.Command("setpriv", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all", "--reuid=65534", "--regid=65534", "--clear-groups",
		binary, "serve", "-c", config, "--database-url", c.TCPURL())
	serve.Dir, serve.Env = e.dir, environment(e.dir)
	var stderr strings.Builder
	serve.Stderr = &stderr
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = serve.Process.Signal(syscall.SIGTERM)
		if err := serve.Wait(); err != nil {
			t.Errorf("%v\n%s", err, stderr.String())
		}
	}()
	id := e.insert("type", "id")
	e.waitState(id, "succeeded")
	has(t, e.logged(id), "65534", "NoNewPrivs:\t1", "CapBnd:\t0000000000000000", "done")
	e.waitState(e.insert("type, args", "warm", "x"), "succeeded")
}
