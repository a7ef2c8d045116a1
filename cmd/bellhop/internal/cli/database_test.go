package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"bellhop/cmd/bellhop/internal/clitest"
	"bellhop/pgdev/pgtest"
)

// finder is an app with an environment of its own.
func finder(env map[string]string) *App {
	return &App{Getenv: func(name string) string { return env[name] }, DataDir: "/nonexistent"}
}

func TestFindDatabase_TakesTheFirstThatIsNamed(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "bellhop.yaml")
	clitest.Write(t, file, "database: {url: \"postgres://file\"}\n")
	cluster := pgtest.Cluster(t)
	all := finder(map[string]string{"DATABASE_URL": "postgres://env", "PGHOST": "pg", "PGUSER": "u"})
	all.DatabaseURL, all.ConfigPath, all.DataDir = "postgres://flag", file, cluster.Dir()
	for _, step := range []struct {
		want   Database
		forget func()
	}{
		{Database{URL: "postgres://flag", From: "--database-url"}, func() { all.DatabaseURL = "" }},
		{Database{URL: "postgres://env", From: "DATABASE_URL"}, func() { all.Getenv = finder(map[string]string{"PGHOST": "pg", "PGUSER": "u"}).Getenv }},
		{Database{URL: "", From: "PGHOST"}, func() { all.Getenv = finder(map[string]string{"PGUSER": "u", "PGPASSFILE": "f"}).Getenv }},
		{Database{URL: "postgres://file", From: file}, func() { clitest.Write(t, file, "") }},
		{Database{URL: cluster.URL(), From: "the embedded server under " + cluster.Dir(), Embedded: true}, func() { all.DataDir = "/nonexistent" }},
	} {
		got, err := all.FindDatabase()
		if err != nil || got != step.want {
			t.Errorf("got %v, %v; want %v", got, err, step.want)
		}
		step.forget()
	}
	_, err := all.FindDatabase()
	if f := ExplainFailure(err); f.Code != ExitNoDatabase || !strings.Contains(f.Error(), "DATABASE_URL") ||
		!strings.Contains(f.Error(), "bellhop serve") {
		t.Errorf("nothing named: %v", err)
	}
}

// What follows an @ in a password is not taken for a host, and not shown.
func TestDial_AnAtInThePassword(t *testing.T) {
	t.Parallel()
	for url, stray := range map[string]bool{
		"postgres://u:p@s3cret@localhost:1/x":       true,
		"postgresql://u:p@s3cret@localhost/x?a=b":   true,
		"postgres://u:p@s3cret/w@localhost:1/x":     true,
		"postgres://u:p%40ss@localhost:1/x":         false,
		"postgres://u:p@localhost:1/a@b":            false,
		"postgres://localhost/x?options=-c%20a@b@c": false,
		"host=localhost password=p@s@s":             false,
		"":                                          false,
	} {
		if strayAt(url) != stray {
			t.Errorf("%s: %t", url, !stray)
		}
		if !stray {
			continue
		}
		_, err := finder(nil).Dial(t.Context(), Database{URL: url, From: "DATABASE_URL"}, nil)
		f := ExplainFailure(err)
		if f.Code != ExitUsage || strings.Contains(f.Error()+f.Next, "s3cret") || !strings.Contains(f.Error(), "%40") {
			t.Errorf("%s: %v", url, err)
		}
	}
}
