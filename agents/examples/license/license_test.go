package license

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/pgdev/pgtest"
	"bellhop/scheduler"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func TestParse_ReadsWhatTheSchedulerWrites(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		columns []scheduler.Column
		want    file
	}{
		{[]scheduler.Column{{Name: "id", Value: "12"}, {Name: "path", Value: "/x/y"}}, file{12, "/x/y", false}},
		{[]scheduler.Column{{Name: "id", Value: "1"}, {Name: "path", Value: "/a \"b\"\\n\n\r="}, {Name: "kind", Value: "source"}}, file{1, "/a \"b\"\\n\n\r=", true}},
		{[]scheduler.Column{{Name: "id", Value: "3"}, {Name: "path", Value: `/\xff`}, {Name: "raw", Value: `\x2fff`}, {Name: "other", Value: ""}}, file{3, "/\xff", false}},
	} {
		line := scheduler.Pairs(c.columns)
		if got, err := parse(line); err != nil || got != c.want {
			t.Errorf("%s: got %+v, %v; want %+v", line, got, err, c.want)
		}
	}
	for _, line := range []string{"", "nonsense", `id="1"`, `path="/x"`, `id="x" path="/x"`, `id="1" path="/x`, `id="1" path="/x\`, `id="1" path="/x" raw="\\xzz"`} {
		if got, err := parse(line); err == nil {
			t.Errorf("%q was taken for %+v", line, got)
		}
	}
}

func TestClassify(t *testing.T) {
	t.Parallel()
	bsd, err := os.ReadFile(filepath.Join(goRoot(t), "LICENSE"))
	if err != nil {
		t.Skipf("no Go tree here, whose licences are looked for; install Go: %v", err)
	}
	for _, c := range []struct{ text, want string }{
		{string(bsd), "BSD-3-Clause"},
		{"", None},
		{"package main\n\nfunc main() {}\n", None},
		{"\x00\xff\xfe binary \x00", None},
		{"// SPDX-License-Identifier: MIT\npackage x\n", "MIT"},
		{"/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */", "(GPL-2.0-only WITH Linux-syscall-note) OR MIT"},
		{"<!-- SPDX-License-Identifier: Apache-2.0 -->", "Apache-2.0"},
		{"# SPDX-License-Identifier: MIT\n# SPDX-License-Identifier: ISC\n# SPDX-License-Identifier: MIT\n", "MIT AND ISC"},
		{"SPDX-License-Identifier: \n", None},
		{"see http://www.apache.org/licenses/LICENSE-2.0 for more", "Apache-2.0"},
	} {
		if got := classify([]byte(c.text)).licence; got != c.want {
			t.Errorf("%.60q: %s, want %s", c.text, got, c.want)
		}
	}
}

func TestLook_GivesEveryFileAnOutcome(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	spdxLine := "// SPDX-License-Identifier: MIT\n"
	for name, text := range map[string]string{
		"empty": "", "head": spdxLine + strings.Repeat("x", 2*headBytes), "late": strings.Repeat("x ", headBytes) + spdxLine,
		"huge": strings.Repeat("x ", mostBytes) + spdxLine,
	} {
		if err := os.WriteFile(path(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range []error{os.Symlink("nowhere", path("dangling")), os.Symlink("loop", path("loop")),
		syscall.Mkfifo(path("pipe"), 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		f                file
		licence, failure string
	}{
		{file{1, path("empty"), false}, None, ""},
		{file{1, path("head"), true}, "MIT", ""},
		{file{1, path("late"), false}, "MIT", ""},
		{file{1, path("late"), true}, None, ""}, // not in the head
		{file{1, path("huge"), false}, None, ""},
		{file{1, path("gone"), false}, "", "no such file"},
		{file{1, path("dangling"), false}, "", "no such file"},
		{file{1, path("loop"), false}, "", "too many levels"},
		{file{1, path("pipe"), false}, "", "not a regular file"},
		{file{1, dir, false}, "", "not a regular file"},
		{file{1, "/" + strings.Repeat("long/", 1000), false}, "", "too long"},
	} {
		got := look(c.f)
		if got.licence != c.licence || (got.failure == "") != (c.failure == "") || !strings.Contains(got.failure, c.failure) {
			t.Errorf("%.80s: %+v, want %q or %q", c.f.path, got, c.licence, c.failure)
		}
	}
}

// table gives a database with a table of the files named.
func table(t *testing.T, paths ...string) (url string, conn *pgx.Conn) {
	t.Helper()
	url = pgtest.URL(t)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.WithoutCancel(t.Context())) })
	_, err = conn.Exec(t.Context(), `create schema demo; create table demo.file (id bigint generated always as identity primary key, path text,
	       licence text, coverage real, failure text, received_at timestamptz, checked_at timestamptz)`)
	for _, path := range paths {
		if err == nil {
			_, err = conn.Exec(t.Context(), "insert into demo.file (path) values ($1)", path)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return url, conn
}

func TestRun_WritesWhatItFindsAndSaysOK(t *testing.T) {
	t.Parallel()
	good := filepath.Join(t.TempDir(), "a.go")
	if err := os.WriteFile(good, []byte("// SPDX-License-Identifier: MIT\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	url, conn := table(t, good, "/no/such/file")
	var out strings.Builder
	in := fmt.Sprintf("id=\"1\" path=%q\nid=\"2\" path=\"/no/such/file\"\n", good)
	before := time.Now()
	if err := run(t.Context(), strings.NewReader(in), &out, url); err != nil {
		t.Fatal(err)
	}
	if want := "OK\nOK\nERROR file 2, \"/no/such/file\": no such file or directory\nOK\n"; out.String() != want {
		t.Errorf("it said %q, want %q", out.String(), want)
	}
	var one, two string
	var ordered bool
	if err := conn.QueryRow(t.Context(), `select (select licence from demo.file where id = 1), (select failure from demo.file where id = 2),
	       (select bool_and(received_at <= checked_at and received_at > $1) from demo.file)`, before.Add(-time.Minute)).Scan(&one, &two, &ordered); err != nil {
		t.Fatal(err)
	}
	if one != "MIT" || two != "no such file or directory" || !ordered {
		t.Errorf("in the table: %q, %q, times in order %v", one, two, ordered)
	}
}

func TestRun_DiesOfItsOwnTrouble(t *testing.T) {
	t.Parallel()
	url, conn := table(t)
	if _, err := conn.Exec(t.Context(), "drop table demo.file"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ url, in, says string }{
		{"", "", "DATABASE_URL is not set"},
		{"postgres://u@127.0.0.1:1/d", "", "connect"},
		{url, "nonsense\n", "pairs"},
		{url, "id=\"1\" path=\"/x\"\n", "record file 1"},
	} {
		if err := run(t.Context(), strings.NewReader(c.in), &strings.Builder{}, c.url); err == nil ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s, %q: %v, want %q", c.url, c.in, err, c.says)
		}
	}
}

// goRoot is where the Go tree is that runs this test.
func goRoot(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skipf("no Go tree here, whose licences are looked for; install Go: %v", err)
	}
	return strings.TrimSpace(string(out))
}
