package cli

import (
	"os"
	"path/filepath"
	"testing"
)

// TestConfig_IsNamedByTheEnvironment: for every command, as -c does.
func TestConfig_IsNamedByTheEnvironment(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "other.yaml")
	if err := os.WriteFile(file, []byte("listen: 127.0.0.1:1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := &App{Getenv: func(name string) string { return map[string]string{ConfigVariable: file}[name] }}
	if c, err := a.LoadConfig(); err != nil || c.Listen != "127.0.0.1:1" {
		t.Errorf("%+v, %v", c.Listen, err)
	}
	a.Getenv = func(string) string { return file + ".not" }
	_, err := a.ConfigFile()
	want := "no such file: " + file + ".not"
	if f := ExplainFailure(err); f.Code != ExitUsage || f.Why != want {
		t.Errorf("a file that is not there: %v", err)
	}
	a.ConfigPath = "/nowhere.yaml"
	_, err = a.ConfigFile()
	if f := ExplainFailure(err); f.Why != "no such file: /nowhere.yaml" {
		t.Errorf("a file that is not there: %v", err)
	}
}
