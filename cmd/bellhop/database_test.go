package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/pgdev/pgtest"
)

// finder is an app with an environment of its own.
func finder(env map[string]string) *app {
	return &app{getenv: func(name string) string { return env[name] }, dataDir: "/nonexistent"}
}

func TestFindDatabase_TakesTheFirstThatIsNamed(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "bellhop.yaml")
	write(t, file, "database: {url: \"postgres://file\"}\n")
	cluster := pgtest.Cluster(t)
	all := finder(map[string]string{"DATABASE_URL": "postgres://env", "PGHOST": "pg", "PGUSER": "u"})
	all.databaseURL, all.configPath, all.dataDir = "postgres://flag", file, cluster.Dir()
	for _, step := range []struct {
		want   place
		forget func()
	}{
		{place{url: "postgres://flag", from: "--database-url"}, func() { all.databaseURL = "" }},
		{place{url: "postgres://env", from: "DATABASE_URL"}, func() { all.getenv = finder(map[string]string{"PGHOST": "pg", "PGUSER": "u"}).getenv }},
		{place{url: "", from: "PGHOST"}, func() { all.getenv = finder(map[string]string{"PGUSER": "u", "PGPASSFILE": "f"}).getenv }},
		{place{url: "postgres://file", from: file}, func() { write(t, file, "") }},
		{place{url: cluster.URL(), from: "the embedded server under " + cluster.Dir(), embedded: true}, func() { all.dataDir = "/nonexistent" }},
	} {
		got, err := all.findDatabase()
		if err != nil || got != step.want {
			t.Errorf("got %v, %v; want %v", got, err, step.want)
		}
		step.forget()
	}
	_, err := all.findDatabase()
	if f := explainFailure(err); f.code != exitNoDatabase || !strings.Contains(f.Error(), "DATABASE_URL") || !strings.Contains(f.Error(), "bellhop serve") {
		t.Errorf("nothing named: %v", err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestCommands_FindTheEmbeddedServerAndTheFile(t *testing.T) { // changes the process's folder and environment
	for _, name := range []string{"DATABASE_URL", "PGHOST", "PGDATABASE", "PGSERVICE", "PGPORT"} {
		t.Setenv(name, "")
	}
	t.Chdir(t.TempDir())
	empty := t.TempDir()
	if r := command("ls", "--data-dir", empty); r.code != exitNoDatabase || !strings.Contains(r.stderr, "no embedded server runs under "+empty) {
		t.Errorf("nothing named: %+v", r)
	}
	cluster := pgtest.Cluster(t)
	if r := command("migrate", "--data-dir", cluster.Dir()); r.code != 0 {
		t.Errorf("embedded: %+v", r)
	}
	write(t, "bellhop.yaml", "database: {url: \""+cluster.URL()+"\"}\n")
	if r := command("ls"); r.code != 0 {
		t.Errorf("./bellhop.yaml: %+v", r)
	}
	write(t, "bellhop.yaml", "databse: {}\n")
	if r := command("ls"); r.code != exitUsage || !strings.Contains(r.stderr, "databse") {
		t.Errorf("a bad ./bellhop.yaml: %+v", r)
	}
	if r := command("ls", "-c", "nowhere.yaml"); r.code != exitUsage || !strings.Contains(r.stderr, "nowhere.yaml") {
		t.Errorf("-c without a file: %+v", r)
	}
}
