package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/pgdev/pgtest"
)

// newDocker starts an engine of the test's own with one image, made of this machine's shell, and gives DOCKER_HOST. It
// skips where that cannot be.
func newDocker(t *testing.T, e *env) (host string) {
	t.Helper()
	for _, program := range []string{"docker", "dockerd", "containerd"} {
		if _, err := exec.LookPath(program); err != nil {
			if _, err := os.Stat("/usr/sbin/" + program); err != nil {
				t.Skipf("%s is not here: jobs on docker are not tested", program)
			}
		}
	}
	if os.Getuid() != 0 {
		t.Skip("dockerd wants to be root: jobs on docker are not tested")
	}
	dir := pgtest.Dir(t)
	path := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(path("daemon.json"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	host = "unix://" + path("sock")
	env := append(os.Environ(), "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin")
	daemon(t, env, dir, "dockerd", "--config-file", path("daemon.json"), "-H", host, "--data-root", path("data"), "--exec-root", path("exec"), "--pidfile",
		path("pid"), "--bridge=none", "--iptables=false", "--ip6tables=false", "--storage-driver=vfs")
	pgtest.Eventually(t, patience, "dockerd answers", func() bool { return docker(host, "info") == nil })
	image := fmt.Sprintf(`cd %s && mkdir -p root/bin && cp -L /bin/sh /bin/sleep root/bin/ &&
		for f in $(ldd /bin/sh /bin/sleep | grep -o '/[^ ]*' | grep -v ':$' | sort -u); do
			mkdir -p "root$(dirname "$f")" && cp -L "$f" "root$f" || exit 1
		done && tar -C root -c . | docker -H %s import - bellhop-test`, dir, host)
	if out, err := exec.Command("sh", "-c", image).CombinedOutput(); err != nil {
		t.Skipf("no image can be made here (%v: %s): jobs on docker are not tested", err, out)
	}
	if err := docker(host, "run", "--rm", "--network=none", "bellhop-test", "/bin/sh", "-c", "exit 0"); err != nil {
		t.Skipf("no container can be run here (%v): jobs on docker are not tested", err)
	}
	return host
}

func docker(host string, args ...string) error {
	out, err := exec.Command("docker", append([]string{"-H", host}, args...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// What a type runs on docker: real containers of a real engine, through the death of their instance, a cancel, a
// timeout, and what docker refuses. Nothing is left of them.
func TestEngine_Docker(t *testing.T) {
	t.Parallel()
	e := setup(t)
	host := newDocker(t, e)
	config := fmt.Sprintf(`agents:
  - {type: far, mode: engine, engine: docker, command: [/bin/sh, -c], env: {DOCKER_HOST: "%[1]s"}, poll_every: 500ms, submits: 2, vars: [CUSTOMER],
     options: ["--network=none", "--volume=%[2]s:/gate", bellhop-test]}
  - {type: nowhere, mode: engine, engine: docker, command: [/nosuch], env: {DOCKER_HOST: "%[1]s"}, options: ["--network=none", bellhop-test]}
`, host, e.dir)
	first := e.serve(config)
	good := e.insert("type, args, vars", "far", `echo "it's $BELLHOP_JOB_ID of $CUSTOMER"`, `{"CUSTOMER": "\"a\" & b"}`)
	dotted := e.insert("type, args, vars", "far", "true", `{"A.B": "1"}`)
	bad := e.insert("type, args", "far", "echo oops; exit 3")
	waits := e.insert("type, args", "far", "until [ -e /gate/open ]; do sleep 0.2; done; echo went on")
	cancelled := e.insert("type, args", "far", "sleep 1000")
	late := e.insert("type, args, timeout", "far", "sleep 1000", "1 s")
	refused := e.insert("type", "nowhere")
	e.waitState(good, "succeeded")
	has(t, e.logged(good), fmt.Sprintf(`out: it's %d of "a" & b`, good))
	if j := e.waitState(dotted, "failed"); !strings.Contains(j.Error, "vars_refused: ") {
		t.Errorf("%+v", j)
	}
	if j := e.waitState(bad, "failed"); j.ExitCode != 3 || j.Error != "exit status 3" {
		t.Errorf("%+v", j)
	}
	if j := e.waitState(refused, "failed"); !strings.Contains(j.Error, "engine_refused: ") || !strings.Contains(j.Error, "/nosuch") {
		t.Errorf("%+v", j)
	}
	if j := e.waitState(late, "failed"); !strings.HasPrefix(j.Error, "timeout: after 1s") {
		t.Errorf("%+v", j)
	}
	e.eventually("both run there", "select count(*) = 2 from bellhop.engine_job where stage = 'running' and state = 'running'")
	first.kill()
	e.serve(config)
	e.ok("cancel", fmt.Sprint(cancelled))
	e.waitState(cancelled, "cancelled")
	e.file("open", "", 0o644)
	if j := e.waitState(waits, "succeeded"); j.Attempt != 1 || j.Fence != 2 {
		t.Errorf("%+v", j)
	}
	has(t, e.logged(waits), "out: went on")
	pgtest.Eventually(t, patience, "no container is left", func() bool {
		out, err := exec.Command("docker", "-H", host, "ps", "--all", "--quiet").Output()
		return err == nil && len(out) == 0
	})
}
