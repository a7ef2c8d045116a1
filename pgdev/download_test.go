package pgdev

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// packed is a jar as the repository has them, with an archive of these files:
// name → text; "→ x" is a link to x.
func packed(t *testing.T, files map[string]string) []byte {
	t.Helper()
	if _, err := exec.LookPath("xz"); err != nil {
		t.Skip("NOT TESTED: downloads; type `apt-get install xz-utils`")
	}
	var plain bytes.Buffer
	w := tar.NewWriter(&plain)
	for name, text := range files {
		h := &tar.Header{Name: name, Mode: 0o755, Size: int64(len(text)), Typeflag: tar.TypeReg}
		if to, link := strings.CutPrefix(text, "→ "); link {
			h.Typeflag, h.Linkname, h.Size = tar.TypeSymlink, to, 0
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			if _, err := w.Write([]byte(text)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	xz := exec.Command("xz", "-0", "--stdout")
	xz.Stdin = &plain
	text, err := xz.Output()
	if err != nil {
		t.Fatal(err)
	}
	var jar bytes.Buffer
	z := zip.NewWriter(&jar)
	for name, text := range map[string][]byte{"META-INF/MANIFEST.MF": nil, "postgres-linux-x86_64.txz": text} {
		f, err := z.Create(name)
		if err == nil {
			_, err = f.Write(text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return jar.Bytes()
}

// publish serves a jar as the repository does, with a checksum.
func publish(t *testing.T, jar []byte, sum string) *httptest.Server {
	t.Helper()
	name, err := artifact()
	if err != nil {
		t.Skip(err)
	}
	path := "/io/zonky/test/postgres/" + name + "/" + downloadVersion + "/" + name + "-" + downloadVersion + ".jar"
	site := http.NewServeMux()
	site.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(jar) })
	if sum != "" {
		site.HandleFunc("GET "+path+".sha256", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(sum)) })
	}
	s := httptest.NewServer(site)
	t.Cleanup(s.Close)
	return s
}

func sumOf(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// installed is this machine's PostgreSQL as an archive has it: programs that
// start the real ones.
func installed(t *testing.T) map[string]string {
	t.Helper()
	real, err := Find()
	if err != nil {
		t.Skipf("NOT TESTED: downloads; %v", err)
	}
	files := map[string]string{"lib/here": "x", "bin/link": "→ postgres"}
	for _, name := range []string{"initdb", "postgres", "pg_ctl"} {
		files["bin/"+name] = "#!/bin/sh\nexec " + filepath.Join(real.Dir, name) + " \"$@\"\n"
	}
	return files
}

// TestDownload_RunsAServer: where the machine has none, all comes from the
// repository; the second time nothing is asked of it.
func TestDownload_RunsAServer(t *testing.T) {
	jar := packed(t, installed(t))
	site := publish(t, jar, sumOf(jar)+"\n")
	t.Setenv("BELLHOP_PG_BIN", "/nonexistent")
	t.Setenv("BELLHOP_PG_REPOSITORY", site.URL+"/")
	dir, err := os.MkdirTemp("", "bellhop-download-") // root lends it to another account
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	for n := range 2 {
		c, err := Start(t.Context(), Config{Programs: filepath.Join(dir, "programs")})
		if err != nil {
			t.Fatalf("time %d: %v", n+1, err)
		}
		if want := filepath.Join(dir, "programs", "postgresql-"+downloadVersion, "bin"); c.bin.Dir != want || c.PID() == 0 {
			t.Errorf("time %d: it runs %+v as %d", n+1, c.bin, c.PID())
		}
		if err := c.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		site.Close()
	}
	if _, err := Start(t.Context(), Config{}); !errors.Is(err, ErrNotFound) {
		t.Errorf("unasked: %v", err)
	}
}

func TestDownload_WhatIsNotWhatWasPublishedIsNotKept(t *testing.T) {
	t.Parallel()
	good := packed(t, map[string]string{"bin/initdb": "#!/bin/sh\n"})
	evil := packed(t, map[string]string{"../../evil": "x"})
	for name, tt := range map[string]struct {
		jar  []byte
		sum  string
		says string
	}{
		"another checksum":      {good, sumOf([]byte("another")), "not what was published"},
		"no checksum":           {good, "", "its checksum: "},
		"no zip":                {[]byte("x"), sumOf([]byte("x")), "unpack"},
		"no programs":           {good, sumOf(good), "no postgres in"},
		"a name that leads out": {evil, sumOf(evil), "escapes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "programs")
			_, err := download(t.Context(), publish(t, tt.jar, tt.sum).URL, dir)
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("want %q, got %v", tt.says, err)
			}
			if left, _ := filepath.Glob(filepath.Join(filepath.Dir(dir), "evil")); len(left) > 0 {
				t.Errorf("it wrote %v", left)
			}
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("left is %v", left)
			}
		})
	}
}

// TestDownload_UnreachableSaysWhatElseCanBeDone: where the net does not reach.
func TestDownload_UnreachableSaysWhatElseCanBeDone(t *testing.T) {
	t.Setenv("BELLHOP_PG_REPOSITORY", "http://127.0.0.1:1")
	_, err := Download(t.Context(), t.TempDir())
	if err == nil {
		t.Fatal("it worked")
	}
	for _, want := range []string{"the repository cannot be reached", "127.0.0.1:1", "--database-url", "BELLHOP_PG_REPOSITORY="} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in: %v", want, err)
		}
	}
}
