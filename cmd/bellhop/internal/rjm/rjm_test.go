package rjm

import (
	"os"
	"path/filepath"
	"testing"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/cmd/bellhop/internal/clitest"
)

func TestConf_SaysWhereThingsAre(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, ".rjm"), 0o755); err != nil {
		t.Fatal(err)
	}
	clitest.Write(t, filepath.Join(home, ".rjm", "conf.sh"), "echo noise\nrjm_database=postgres://conf\nrjm_wd=/var/tmp\nrjm_hostid='big one'\n")
	a := &cli.App{Stderr: t.Output(), Getenv: func(name string) string { return map[string]string{"HOME": home}[name] }}
	got, err := rjm(t.Context(), a)
	if err != nil || got.workDir != "/var/tmp" || got.host != "big-one" || got.tasks != filepath.Join(home, ".rjm", "tasks.sh") {
		t.Errorf("%+v, %v", got, err)
	}
	if a.DatabaseURL != "postgres://conf" {
		t.Errorf("the database is %q", a.DatabaseURL)
	}
	a.DatabaseURL = "postgres://flag"
	if _, err := rjm(t.Context(), a); err != nil || a.DatabaseURL != "postgres://flag" {
		t.Errorf("the flag wins: %q, %v", a.DatabaseURL, err)
	}
}
