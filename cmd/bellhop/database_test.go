package main

import (
	"strings"
	"testing"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/cmd/bellhop/internal/clitest"
	"bellhop/pgdev/pgtest"
)

func TestCommands_FindTheEmbeddedServerAndTheFile(t *testing.T) { // changes the process's folder and environment
	for _, name := range []string{"DATABASE_URL", "PGHOST", "PGDATABASE", "PGSERVICE", "PGPORT"} {
		t.Setenv(name, "")
	}
	t.Chdir(t.TempDir())
	empty := t.TempDir()
	if r := command("ls", "--data-dir", empty); r.code != cli.ExitNoDatabase || !strings.Contains(r.stderr, "no embedded server runs under "+empty) {
		t.Errorf("nothing named: %+v", r)
	}
	cluster := pgtest.Cluster(t)
	if r := command("migrate", "--data-dir", cluster.Dir()); r.code != 0 {
		t.Errorf("embedded: %+v", r)
	}
	clitest.Write(t, "bellhop.yaml", "database: {url: \""+cluster.URL()+"\"}\n")
	if r := command("ls"); r.code != 0 {
		t.Errorf("./bellhop.yaml: %+v", r)
	}
	clitest.Write(t, "bellhop.yaml", "databse: {}\n")
	if r := command("ls"); r.code != cli.ExitUsage || !strings.Contains(r.stderr, "databse") {
		t.Errorf("a bad ./bellhop.yaml: %+v", r)
	}
	if r := command("ls", "-c", "nowhere.yaml"); r.code != cli.ExitUsage || !strings.Contains(r.stderr, "nowhere.yaml") {
		t.Errorf("-c without a file: %+v", r)
	}
}
