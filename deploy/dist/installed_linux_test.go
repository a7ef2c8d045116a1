package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/pgdev/pgtest"
)

// kind is how a system of packages installs, upgrades and removes.
type kind struct {
	end, install, upgrade, remove string
	packages                      []string
}

// TestPackages_FromAnEmptyMachineToRemoval: with nothing but the package a service runs a job and shows its page, is
// upgraded while jobs run, and goes without taking data along.
func TestPackages_FromAnEmptyMachineToRemoval(t *testing.T) {
	for _, k := range []kind{
		{".deb", "dpkg -i %s", "dpkg -i %s", "dpkg -r bellhop", nil},
		{".rpm", "rpm -i --nodeps %s", "rpm -U --nodeps %s", "rpm -e bellhop", []string{"rpm"}},
	} {
		t.Run(strings.TrimPrefix(k.end, "."), func(t *testing.T) { packageLives(t, k) })
	}
}

func packageLives(t *testing.T, k kind) {
	m := boot(t, k.packages...)
	releases(t)
	address := freeAddress(t)
	url := pgtest.Cluster(t).TCPURL()

	said := m.run(fmt.Sprintf(k.install, m.bring(only(t, made.one, k.end))))
	if !strings.Contains(said, "installed, not started. Next:") {
		t.Errorf("the installation says: %s", said)
	}
	for _, path := range []string{"/usr/share/man/man1/bellhop.1.gz", "/usr/share/bash-completion/completions/bellhop",
		"/usr/lib/systemd/system/bellhop.service", "/usr/share/doc/bellhop/copyright"} {
		if !m.has(path) {
			t.Errorf("there is no %s", path)
		}
	}
	write := func(name, text string, mode os.FileMode) {
		must(t, os.WriteFile(filepath.Join(m.root, name), []byte(text), mode))
	}
	write("/etc/bellhop/environment", "DATABASE_URL="+url+"\n", 0o600)
	config := "listen: " + address + "\nhosts:\n  - {name: local, slots: 4}\n" +
		"agents:\n  - {type: sh, command: [sh, -c], mode: exec}\n"
	write("/etc/bellhop/bellhop.yaml", config, 0o644)

	own := "export DATABASE_URL='" + url + "'; "
	m.run(own + "bellhop migrate && systemctl enable --now bellhop")
	m.run(own + "bellhop submit sh 'id -un > /tmp/by; echo it works' --wait")
	if by := m.run("cat /tmp/by"); by != "bellhop\n" {
		t.Errorf("the job ran as %q", by)
	}
	if page := get(t, "http://"+address+"/jobs/1"); !strings.Contains(page, `<span class="state succeeded">`) {
		t.Errorf("the page of the job does not show that it succeeded:\n%.2000s", page)
	}

	before := m.run("bellhop version")
	m.run(own + "for i in 1 2 3 4; do bellhop submit sh 'sleep 3; echo done'; done")
	pgtest.Eventually(t, patience, "four jobs run", func() bool {
		return strings.Count(m.run(own+"bellhop ls --state running"), "running") >= 4
	})
	if said := m.run(fmt.Sprintf(k.upgrade, m.bring(only(t, made.later, k.end)))); !strings.Contains(said, "restarted") {
		t.Errorf("the upgrade says: %s", said)
	}
	if m.run("bellhop version") == before {
		t.Error("the version is the old one")
	}
	pgtest.Eventually(t, patience, "the jobs that ran have succeeded", func() bool {
		return strings.Count(m.run(own+"bellhop ls --state succeeded"), "succeeded") == 5
	})
	if text, err := os.ReadFile(filepath.Join(m.root, "/etc/bellhop/bellhop.yaml")); string(text) != config {
		t.Errorf("the configuration is not what it was: %v\n%s", err, text)
	}

	m.run(k.remove)
	if state, err := m.try("systemctl is-active bellhop"); err == nil {
		t.Errorf("the service is %s", state)
	}
	if m.has("/usr/bin/bellhop") || !m.has("/var/lib/bellhop") || !m.has("/etc/bellhop/environment") {
		t.Error("the program is there, or data are gone")
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	return l.Addr().String()
}

func get(t *testing.T, url string) string {
	t.Helper()
	r, err := http.Get(url)
	must(t, err)
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	must(t, err)
	if r.StatusCode != http.StatusOK {
		t.Errorf("%s: %s", url, r.Status)
	}
	return string(text)
}
