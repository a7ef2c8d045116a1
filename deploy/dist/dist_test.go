package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"aead.dev/minisign"

	"bellhop/pgdev/pgtest"
)

func TestMain(m *testing.M) {
	code := pgtest.Main(m)
	if made.dir != "" {
		_ = os.RemoveAll(made.dir) // a folder of the tests' own
	}
	os.Exit(code)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const here = runtime.GOOS + "/" + runtime.GOARCH

// made are the releases of this test process, in folders of dir: one and again are of the checkout's last commit,
// made from two folders; later is of a commit after it. public is the file of the key that signed them.
var made struct {
	sync.Once
	dir, one, again, later, public string
	err                            error
}

// releases makes them: minutes, the first time.
func releases(t *testing.T) {
	t.Helper()
	made.Do(func() { made.err = makeReleases() })
	must(t, made.err)
}

func makeReleases() (err error) {
	if made.dir, err = os.MkdirTemp("", "bellhop-releases-"); err != nil {
		return err
	}
	at := func(name string) string { return filepath.Join(made.dir, name) }
	made.one, made.again, made.later, made.public = at("one"), at("again"), at("later"), at("bellhop.pub")
	key, err := signingKey(made.public, at("bellhop.key"))
	if err != nil {
		return err
	}
	for _, from := range []string{"first", "second"} {
		if err := git("clone", "-q", "../..", at(from)); err != nil {
			return err
		}
	}
	if err := errors.Join(run(at("first"), made.one, here, key), run(at("second"), made.again, here, key)); err != nil {
		return err
	}
	if err := git("-C", at("second"), "-c", "user.name=test", "-c", "user.email=test@localhost", "commit", "-q",
		"--allow-empty", "-m", "later"); err != nil {
		return err
	}
	return run(at("second"), made.later, here, key)
}

func git(args ...string) error {
	out, err := exec.Command("git", args...).CombinedOutput()
	if err != nil {
		return errors.New(strings.Join(args, " ") + ": " + string(out))
	}
	return nil
}

// signingKey writes a new pair of keys.
func signingKey(public, private string) (string, error) {
	p, s, err := minisign.GenerateKey(nil)
	if err != nil {
		return "", err
	}
	text, err := p.MarshalText()
	if err != nil {
		return "", err
	}
	sealed, err := minisign.EncryptKey(os.Getenv("BELLHOP_KEY_PASSWORD"), s)
	if err != nil {
		return "", err
	}
	return private, errors.Join(os.WriteFile(public, text, 0o644), os.WriteFile(private, sealed, 0o600))
}

// only is the one file of the release whose name ends so.
func only(t *testing.T, release, end string) string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(release, "*"+end))
	must(t, err)
	if len(all) != 1 {
		t.Fatalf("%d files *%s in the release", len(all), end)
	}
	return all[0]
}

// unpacked is the program of the release's archive.
func unpacked(t *testing.T, release string) string {
	t.Helper()
	dir := t.TempDir()
	archive := only(t, release, strings.ReplaceAll(here, "/", "_")+".tar.gz")
	if out, err := exec.Command("tar", "xzf", archive, "-C", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return only(t, dir, "/bellhop")
}

// TestDist_TwiceIsTheSame: two folders, one commit, the same bytes in each file.
func TestDist_TwiceIsTheSame(t *testing.T) {
	releases(t)
	files, err := os.ReadDir(made.one)
	must(t, err)
	if len(files) < 10 {
		t.Errorf("a release is %d files", len(files))
	}
	for _, f := range files {
		first, err := os.ReadFile(filepath.Join(made.one, f.Name()))
		must(t, err)
		if second, err := os.ReadFile(filepath.Join(made.again, f.Name())); err != nil || !bytes.Equal(first, second) {
			t.Errorf("%s differs: %v", f.Name(), err)
		}
	}
}

// TestDist_VerifyTellsTheTrueFromTheChanged: each file is as it was signed, and one changed byte is noticed.
func TestDist_VerifyTellsTheTrueFromTheChanged(t *testing.T) {
	releases(t)
	program := unpacked(t, made.one)
	deb := only(t, made.one, ".deb")
	for _, args := range [][]string{{"verify", deb}, {"verify", "--key", made.public, deb}} {
		if out, err := exec.Command(program, args...).CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
	dir := t.TempDir()
	must(t, os.CopyFS(dir, os.DirFS(made.one)))
	changed := filepath.Join(dir, filepath.Base(deb))
	text, err := os.ReadFile(changed)
	must(t, err)
	text[len(text)/2]++
	must(t, os.WriteFile(changed, text, 0o644))
	if out, err := exec.Command(program, "verify", changed).CombinedOutput(); err == nil {
		t.Errorf("a changed file is taken for the true one: %s", out)
	}
}

// TestDist_ArchiveKnowsItsVersion: what the program says is what the files are called.
func TestDist_ArchiveKnowsItsVersion(t *testing.T) {
	releases(t)
	out, err := exec.Command(unpacked(t, made.one), "version", "-o", "json").Output()
	must(t, err)
	var v struct{ Version, Commit, Date string }
	must(t, json.Unmarshal(out, &v))
	if name := filepath.Base(only(t, made.one, ".deb")); !strings.Contains(name, v.Version) || v.Version == "" {
		t.Errorf("%s has version %q", name, v.Version)
	}
	if v.Commit == "" || v.Date == "" {
		t.Errorf("commit %q, date %q", v.Commit, v.Date)
	}
}

// TestDist_ImageRuns: an engine loads the image, and its program runs without a shell and without rights.
func TestDist_ImageRuns(t *testing.T) {
	if err := exec.Command("docker", "info").Run(); err != nil {
		t.Skip("SKIPPED: no engine for containers answers here: the image is not run")
	}
	releases(t)
	image := only(t, made.one, ".oci.tar")
	out, err := exec.Command("docker", "load", "-q", "-i", image).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	_, name, _ := strings.Cut(strings.TrimSpace(string(out)), ": ")
	t.Cleanup(func() { _ = exec.Command("docker", "rmi", "-f", name).Run() }) // the next run loads it anew
	said, err := exec.Command("docker", "run", "--rm", "--network", "none", "--read-only", "--cap-drop", "ALL", name,
		"version").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(said), "bellhop ") {
		t.Errorf("%v: %s", err, said)
	}
}
