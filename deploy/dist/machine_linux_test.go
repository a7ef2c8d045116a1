package main

import (
	"context"
	_ "embed"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"bellhop/pgdev/pgtest"
)

const (
	suite    = "bookworm" // the release of Debian of the tests' machines
	patience = 2 * time.Minute
)

//go:embed machine_test.sh
var bootScript string

// machine is a Debian of its own with systemd, in namespaces of this one: its network is this machine's.
type machine struct {
	t    *testing.T
	root string
	init string // the process that is its first
}

// boot starts a machine of Debian's essential packages, systemd and those named. It skips loudly where this account
// or system cannot.
func boot(t *testing.T, packages ...string) *machine {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: packages are not installed: only root may start a machine of the test's own")
	}
	for _, needed := range []string{"mmdebstrap", "unshare", "nsenter"} {
		if _, err := exec.LookPath(needed); err != nil {
			t.Skipf("SKIPPED: packages are not installed: no %s here", needed)
		}
	}
	m := &machine{t: t, root: filepath.Join(t.TempDir(), "root")}
	must(t, os.Mkdir(m.root, 0o755))
	if out, err := exec.Command("tar", "xpf", system(t, packages), "-C", m.root).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := m.first("true").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: packages are not installed: this system does not let root make namespaces: %v: %s", err, out)
	}
	var said strings.Builder
	c := m.first("/lib/systemd/systemd", "--log-target=null")
	// The machine goes when its stdin is closed, which a test does that ends in any way.
	c = exec.Command("sh", append([]string{"-c", `"$@" </dev/null & read _; kill -9 $!; wait`, "sh"}, c.Args...)...)
	c.Stdout, c.Stderr = &said, &said
	life, err := c.StdinPipe()
	must(t, err)
	must(t, c.Start())
	t.Cleanup(func() {
		_ = life.Close()
		_ = c.Wait() // its child was killed
		if t.Failed() {
			t.Logf("the machine said:\n%s", said.String())
		}
	})
	pgtest.Eventually(t, patience, "systemd is up", func() bool {
		if m.init = child(child(strconv.Itoa(c.Process.Pid))); m.init == "" {
			return false
		}
		state, _ := m.try("systemctl is-system-running")
		return strings.Contains(state, "running") || strings.Contains(state, "degraded")
	})
	return m
}

// child is the one child of a process; empty: it has none.
func child(pid string) string {
	list, _ := os.ReadFile(filepath.Join("/proc", pid, "task", pid, "children")) // none: the process has ended
	return strings.TrimSpace(string(list))
}

// first runs a command as the first process of the machine.
func (m *machine) first(command ...string) *exec.Cmd {
	args := []string{"--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child", "sh", "-c", bootScript, "sh", m.root}
	return exec.Command("unshare", append(args, command...)...)
}

// system is an archive of the packages, kept for the next run.
func system(t *testing.T, packages []string) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	must(t, err)
	dir := filepath.Join(cache, "bellhop", "machines")
	must(t, os.MkdirAll(dir, 0o755))
	path := filepath.Join(dir, strings.Join(append([]string{suite}, packages...), "-")+".tar")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	list := strings.Join(append([]string{"systemd-sysv", "passwd"}, packages...), ",")
	c := exec.Command("mmdebstrap", "--variant=essential", "--quiet", "--include="+list,
		"--dpkgopt=force-unsafe-io", suite, path+".new.tar")
	if out, err := c.CombinedOutput(); err != nil {
		_ = os.Remove(path + ".new.tar")
		t.Skipf("SKIPPED: packages are not installed: mmdebstrap cannot get Debian here: %v: %s", err, out)
	}
	must(t, os.Rename(path+".new.tar", path))
	return path
}

// try runs a command of the shell as root of the machine.
func (m *machine) try(command string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c := exec.CommandContext(ctx, "nsenter", "--target", m.init, "--mount", "--pid", "--ipc", "--uts", "--root", "--wd",
		"sh", "-c", command)
	c.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "HOME=/root"}
	out, err := c.CombinedOutput()
	return string(out), err
}

// run is try for what must succeed.
func (m *machine) run(command string) string {
	m.t.Helper()
	out, err := m.try(command)
	if err != nil {
		journal, _ := m.try("journalctl -u bellhop --no-pager -n 40")
		m.t.Fatalf("%s: %v\n%s\n%s", command, err, out, journal)
	}
	return out
}

// has says whether the machine has such a file.
func (m *machine) has(path string) bool {
	_, err := os.Lstat(filepath.Join(m.root, path))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		m.t.Error(err)
	}
	return err == nil
}

// bring copies a file of this machine into the other's /root.
func (m *machine) bring(path string) string {
	m.t.Helper()
	text, err := os.ReadFile(path)
	must(m.t, err)
	name := filepath.Join("/root", filepath.Base(path))
	must(m.t, os.WriteFile(filepath.Join(m.root, name), text, 0o644))
	return name
}
