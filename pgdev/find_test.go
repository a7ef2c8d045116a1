package pgdev

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// machine is a made-up one: its environment and its packages' folders.
func machine(env map[string]string, globs ...string) places {
	return places{getenv: func(name string) string { return env[name] }, globs: globs}
}

// install puts programs into dir that say they are PostgreSQL of that version.
func install(t *testing.T, dir, version string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"initdb", "postgres"} {
		text := "#!/bin/sh\necho '" + name + " (PostgreSQL) " + version + " (made up)'\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestFind_HighestVersionOfPackagesFirst(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	install(t, filepath.Join(root, "9.6", "bin"), "9.6.24")
	install(t, filepath.Join(root, "14", "bin"), "14.2")
	best := install(t, filepath.Join(root, "100", "bin"), "100devel")
	m := machine(nil, filepath.Join(root, "*", "bin"))
	b, err := m.find(0)
	if want := (Binaries{Dir: best, Version: "100devel", Major: 100}); err != nil || b != want {
		t.Errorf("found %+v %v, want %+v", b, err, want)
	}
	if b, err = m.find(14); err != nil || b.Version != "14.2" {
		t.Errorf("for a cluster of 14: %+v %v", b, err)
	}
}

func TestFind_PathThroughALink(t *testing.T) {
	t.Parallel()
	real, bin := install(t, filepath.Join(t.TempDir(), "real"), "16.1"), t.TempDir()
	if err := os.Symlink(filepath.Join(real, "initdb"), filepath.Join(bin, "initdb")); err != nil {
		t.Fatal(err)
	}
	b, err := machine(map[string]string{"PATH": "relative:/nowhere:" + bin}).find(0)
	if err != nil || b.Dir != real {
		t.Errorf("found %+v %v", b, err)
	}
}

func TestFind_PgConfigNamesTheFolder(t *testing.T) {
	t.Parallel()
	real, bin := install(t, filepath.Join(t.TempDir(), "real"), "17.0"), t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "pg_config"), []byte("#!/bin/sh\necho "+real+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	b, err := machine(map[string]string{"PATH": bin}).find(0)
	if err != nil || b.Dir != real {
		t.Errorf("found %+v %v", b, err)
	}
}

func TestFind_NamedFolderIsTheOnlyOne(t *testing.T) {
	t.Parallel()
	other, named := install(t, filepath.Join(t.TempDir(), "bin"), "16.1"), t.TempDir()
	m := machine(map[string]string{"BELLHOP_PG_BIN": named}, other)
	_, err := m.find(0)
	if !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "no initdb in "+named) {
		t.Errorf("error %v", err)
	}
	install(t, named, "14.0")
	if b, err := m.find(0); err != nil || b.Dir != named {
		t.Errorf("found %+v %v", b, err)
	}
}

func TestFind_NothingSaysWhatToType(t *testing.T) {
	t.Parallel()
	old := install(t, filepath.Join(t.TempDir(), "bin"), "12.3")
	for name, c := range map[string]struct {
		m    places
		want []string
	}{
		"nothing at all": {machine(map[string]string{"PATH": ""}, "/nowhere/*/bin"),
			[]string{"BELLHOP_PG_BIN (not set)", "no pg_config in PATH", "PATH (no initdb in it)", "/nowhere/*/bin (nothing there)",
				"apt-get install postgresql", "brew install", "--database-url", "BELLHOP_PG_BIN=/"}},
		"too old": {machine(map[string]string{"PATH": old}), []string{old + " is PostgreSQL 12.3: too old"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := c.m.find(0)
			if !errors.Is(err, ErrNotFound) {
				t.Fatalf("error %v", err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in: %v", want, err)
				}
			}
		})
	}
}

func TestFind_AdviceIsForThePackageManagerHere(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "apk"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := machine(map[string]string{"PATH": bin}).find(16)
	if err == nil || !strings.Contains(err.Error(), "apk add postgresql16") || strings.Contains(err.Error(), "apt-get") {
		t.Errorf("error %v", err)
	}
}

func TestDefaultDir_FollowsTheAccount(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", "/somewhere")
	want := "/somewhere/bellhop"
	if os.Geteuid() == 0 {
		want = "/var/lib/bellhop"
	}
	if dir := DefaultDir(); dir != want {
		t.Errorf("%s, want %s", dir, want)
	}
}
