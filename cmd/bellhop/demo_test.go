package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/pgdev/pgtest"
)

// The tests' program is bellhop itself where the demo starts it as its agent,
// and where a test wants a bellhop that it can send signals to.
func init() {
	if os.Getenv("BELLHOP_TEST_PROGRAM") == "1" || len(os.Args) > 1 && os.Args[1] == demoAgent {
		if len(os.Args) > 1 && os.Args[1] == demoAgent {
			becomePlainAgent()
		}
		// Not on the goroutine of init, which is tied to its thread as main is not.
		go func() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }()
		select {}
	}
}

const apacheHead = `// Licensed under the Apache License, Version 2.0 (the "License");
// you may not use this file except in compliance with the License.
// You may obtain a copy of the License at
//
//     http://www.apache.org/licenses/LICENSE-2.0
//
// Unless required by applicable law or agreed to in writing, software
// distributed under the License is distributed on an "AS IS" BASIS,
// WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
// See the License for the specific language governing permissions and
// limitations under the License.

package x
`

// tree makes a folder of files; a name that ends in a slash is a folder.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
		} else {
			write(t, path, text)
		}
	}
	return dir
}

// goRoot is where the Go tree is that runs this test.
func goRoot(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skipf("no Go tree here: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// goLicence is a licence in full that is on every machine that can run this.
func goLicence(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(goRoot(t), "LICENSE"))
	if err != nil {
		t.Skipf("no Go tree here: %v", err)
	}
	return string(text)
}

// lastLine checks how a demo ended, and its last line up to seconds=.
func lastLine(t *testing.T, r result, code int, want string) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(r.stdout, "\n"), "\n")
	last := lines[len(lines)-1]
	if r.code != code || !strings.HasPrefix(last, want+" seconds=") || !regexp.MustCompile(`^files=\d+ found=\d+ none=\d+ failed=\d+ seconds=\d+\.\d$`).MatchString(last) {
		t.Errorf("exit code %d, want %d; last line %q, want %q\n%s%s", r.code, code, last, want, r.stdout, r.stderr)
	}
}

func TestDemo_KeepsItsDatabaseAndThenHasNothingToDo(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"a/LICENSE": goLicence(t), "a/mit.go": "// SPDX-License-Identifier: MIT\npackage a\n", "b/apache.go": apacheHead, "b/bare.go": "package b\n", "b/data": "-",
	})
	kept := filepath.Join(pgtest.Dir(t), "kept")
	first := command("demo", dir, "--keep", "--data-dir", kept)
	lastLine(t, first, 0, "files=4 found=3 none=1 failed=0")
	has(t, first.stdout, "BSD-3-Clause", "Apache-2.0", "MIT", "(none found)", "1 licence-like file, 3 source files", "Job 1 did 4 files with 1 agent",
		"had the first file in hand:", "From the INSERT of a single job until an agent that is up had it: ", "psql 'postgres://", "bellhop serve --data-dir "+kept)

	if strings.Contains(first.stdout, "It is ") {
		t.Errorf("its job did not succeed:\n%s", first.stdout)
	}

	again := command("demo", dir, "--keep", "--data-dir", kept)
	lastLine(t, again, 0, "files=4 found=3 none=1 failed=0")
	has(t, again.stdout, "Nothing to do", "BSD-3-Clause")
	has(t, again.stderr, "nothing to do")

	write(t, filepath.Join(dir, "b", "new.c"), "/* SPDX-License-Identifier: ISC */\n")
	var report struct {
		Files, Found, None, Failed int
		Licences                   []demoCount
		First                      *float64 `json:"first_item_seconds"`
	}
	more := command("demo", dir, "--keep", "--data-dir", kept, "-o", "json")
	if err := json.Unmarshal([]byte(more.stdout), &report); err != nil || more.code != 0 {
		t.Fatalf("%v: %+v", err, more)
	}
	if report.Files != 5 || report.Found != 4 || len(report.Licences) != 4 || report.First == nil || *report.First <= 0 {
		t.Errorf("with one file more: %+v", report)
	}
	if _, err := os.Stat(filepath.Join(kept, "data", "postmaster.pid")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a server runs in the kept database: %v", err)
	}
}

func TestDemo_GivesOddFilesAnOutcome(t *testing.T) {
	t.Parallel()
	s := &shell{t: t, url: pgtest.URL(t)}
	dir := tree(t, map[string]string{
		"LICENSE/": "", "LICENSE/COPYING": goLicence(t), "NOTICE": "",
		"ünïcode \"\\\n.go":  "// SPDX-License-Identifier: MIT\n",
		"not utf-8 \xff.go":  "// SPDX-License-Identifier: MIT\n",
		"not utf-8 \\xff.go": "// SPDX-License-Identifier: MIT\n", // looks like the one before
	})
	path := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		os.Symlink("nowhere", path("LICENSE.dangling")), os.Symlink("LICENSE.loop", path("LICENSE.loop")), os.Symlink(".", path("LICENSE.folder")),
		os.Symlink("..", path("LICENSE/up")), os.Symlink("LICENSE/COPYING", path("LICENSE.link")), syscall.Mkfifo(path("LICENSE.pipe"), 0o600),
		os.WriteFile(path("LICENSE.huge"), nil, 0o600), os.Truncate(path("LICENSE.huge"), 10<<30),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	r := s.run("demo", dir)
	lastLine(t, r, 0, "files=9 found=5 none=2 failed=2")
	has(t, r.stdout, "failed: "+path("LICENSE.dangling")+": no such file or directory", "LICENSE.loop: too many levels of symbolic links",
		"6 licence-like files, 3 source files", "The same with psql:\n")
	lastLine(t, s.run("demo", dir), 0, "files=9 found=5 none=2 failed=2") // none of them is new

	conn, err := pgx.Connect(t.Context(), s.url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	s.conn = conn

	// A line that its agent does not survive.
	s.sql("insert into demo.file (path, kind) values ('', 'source')")
	r = s.run("demo", dir)
	lastLine(t, r, 0, "files=10 found=5 none=2 failed=3")
	has(t, r.stdout, "given up after 3 tries", "It is failed: no_progress")

	// What looks like the demo's table but is not stays as it is.
	s.sql("comment on table demo.file is null")
	s.fails(exitState, "not the demo's", "demo", dir)
}

func TestDemo_RefusesWhatHoldsNoFiles(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"empty/": "", "other/data.bin": "x", "git/.git/LICENSE": "x", "file": "x"})
	for _, c := range []struct {
		says string
		args []string
	}{
		{"neither licence-like nor source files in " + dir + "/empty", []string{"empty"}},
		{"neither licence-like", []string{"other"}},
		{"neither licence-like", []string{"git"}},
		{"/missing: no such file", []string{"missing"}},
		{"not a directory", []string{"file"}},
		{"--limit -1", []string{"other", "--limit", "-1"}},
		{"accepts at most 1", []string{"empty", "other"}},
	} {
		c.args[0] = filepath.Join(dir, c.args[0])
		r := command(append([]string{"demo"}, c.args...)...)
		if r.code != exitUsage || r.stdout != "" || !strings.Contains(r.stderr, c.says) {
			t.Errorf("%q: %+v, want %q", c.args, r, c.says)
		}
	}
	if r := command("demo", ""); r.code != exitUsage || !strings.Contains(r.stderr, "empty") {
		t.Errorf("no name: %+v", r)
	}
}

func TestDemo_IsNotTurnedAwayByTheEnvironment(t *testing.T) { // no t.Parallel: it sets variables
	t.Setenv("DATABASE_URL", "postgres://u@127.0.0.1:1/d") // must not be touched
	t.Setenv("PGHOST", "127.0.0.1")
	cache := tree(t, map[string]string{"cache/download/LICENSE": "x", "m@v1/LICENSE": goLicence(t)})
	t.Setenv("GOMODCACHE", cache)
	r := command("demo")
	lastLine(t, r, 0, "files=1 found=1 none=0 failed=0")
	gone(t, r.stderr)
	t.Setenv("GOMODCACHE", filepath.Join(cache, "none"))
	if r := command("demo"); r.code != exitUsage || !strings.Contains(r.stderr, "no Go module cache in") {
		t.Errorf("no cache: %+v", r)
	}
}

// gone waits until there is nothing left of a demo: the folder that its psql
// line names, and every process that has it on its command line or in its
// environment.
func gone(t *testing.T, stderr string) {
	t.Helper()
	address := regexp.MustCompile(`psql '([^']*)'`).FindStringSubmatch(stderr)
	if address == nil {
		t.Fatalf("no psql line in %q", stderr)
	}
	u, err := url.Parse(address[1])
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(u.Query().Get("host")) // of the folder with the socket
	var still string
	pgtest.Eventually(t, 20*time.Second, "nothing is left of the demo in "+dir, func() bool {
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			still = dir
			return false
		}
		still = ""
		for _, file := range []string{"cmdline", "environ"} {
			paths, _ := filepath.Glob("/proc/[0-9]*/" + file)
			for _, path := range paths {
				if text, err := os.ReadFile(path); err == nil && (strings.Contains(string(text), dir) || strings.Contains(string(text), url.QueryEscape(dir))) {
					still = path + ": " + string(text)
				}
			}
		}
		return still == ""
	})
}

// started is a demo in a process of its own.
type started struct {
	*exec.Cmd
	stderr *bufio.Reader
	said   strings.Builder
}

func start(t *testing.T, args ...string) *started {
	t.Helper()
	s := &started{Cmd: exec.Command(os.Args[0], append([]string{"demo"}, args...)...)}
	s.Env = append(os.Environ(), "BELLHOP_TEST_PROGRAM=1")
	pipe, err := s.StderrPipe()
	if err == nil {
		err = s.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Process.Kill() })
	s.stderr = bufio.NewReader(pipe)
	return s
}

// until reads stderr until a line matches a pattern.
func (s *started) until(t *testing.T, pattern string) {
	t.Helper()
	wanted := regexp.MustCompile(pattern)
	for {
		line, err := s.stderr.ReadString('\n')
		s.said.WriteString(line)
		if wanted.MatchString(line) {
			return
		}
		if err != nil {
			t.Fatalf("no %q: %v\n%s", pattern, err, s.said.String())
		}
	}
}

// ended reads the rest and gives the exit code, -1 after a signal.
func (s *started) ended() int {
	for {
		line, err := s.stderr.ReadString('\n')
		s.said.WriteString(line)
		if err != nil {
			_ = s.Wait() // the code tells
			return s.ProcessState.ExitCode()
		}
	}
}

func TestDemo_LeavesNothingBehindHoweverItEnds(t *testing.T) {
	t.Parallel()
	big := filepath.Join(goRoot(t), "src")
	if _, err := os.Stat(big); err != nil {
		t.Skipf("no Go tree here: %v", err)
	}
	for _, c := range []struct {
		name   string
		signal os.Signal
		when   string
		code   int
	}{
		{"interrupted early", syscall.SIGINT, "psql", exitInterrupted},
		{"told to end at work", syscall.SIGTERM, "[1-9] agents?", exitInterrupted},
		{"killed at work", syscall.SIGKILL, "[1-9] agents?", -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, big, "--limit", "0")
			s.until(t, "psql")
			if c.when != "psql" {
				s.until(t, c.when)
			}
			if err := s.Process.Signal(c.signal); err != nil {
				t.Fatal(err)
			}
			if code := s.ended(); code != c.code || code > 0 && !strings.Contains(s.said.String(), "interrupted; nothing is left behind") {
				t.Errorf("exit code %d, want %d\n%s", code, c.code, s.said.String())
			}
			gone(t, s.said.String())
		})
	}
}

func TestDemo_InterruptedOnAKeptDatabaseGoesOnNextTime(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range 1400 {
		files["d"+strconv.Itoa(i/20)+"/f"+strconv.Itoa(i)+".go"] = "// SPDX-License-Identifier: MIT\n"
	}
	dir := tree(t, files)
	db := setup(t)
	s := start(t, dir, "--database-url", db.url)
	s.until(t, "psql")
	count := func(query string) (n int) {
		if err := db.conn.QueryRow(t.Context(), query).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	// It stands still meanwhile: on a quick machine it would be over before the other has given up.
	if err := s.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	other := db.run("demo", dir)
	if err := s.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if other.code != exitState || !strings.Contains(other.stderr, "another demo runs") {
		t.Errorf("a second demo at the same time: %+v", other)
	}
	pgtest.Eventually(t, 2*time.Minute, "the first file is done", func() bool {
		return count("select count(*) from demo.file where licence is not null") > 0
	})
	if err := s.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := s.ended(); code != exitInterrupted {
		t.Fatalf("it ended by itself with %d\n%s", code, s.said.String())
	}
	if n := count("select count(*) from bellhop.jobqueue where state not in ('cancelled', 'succeeded')"); n != 0 {
		t.Errorf("%d jobs are left in the queue", n)
	}
	lastLine(t, db.run("demo", dir), 0, "files=1400 found=1400 none=0 failed=0")
}

func TestFileFinder_TakesLicencesFirstAndSaysWhenItIsCut(t *testing.T) {
	t.Parallel()
	files := map[string]string{"z/LICENSE": "", "z/copying.LIB": "", "z/LICENSES/MIT.txt": "", "z/license.go": "", "z/MIT-LICENSE.md": "", "z/unnoticed.txt": ""}
	for i := range sourcesPerFolder + 5 {
		files["a/f"+strconv.Itoa(i)+".go"] = ""
	}
	dir := tree(t, files)
	all := sourcesPerFolder + 1
	for _, c := range []struct {
		limit, licences, sources int
		more                     bool
	}{{0, 4, all, false}, {4 + all, 4, all, false}, {3 + all, 4, all - 1, true}, {5, 4, 1, true}, {4, 4, 0, true}, {2, 2, 0, true}} {
		f := &fileFinder{dir: dir, limit: c.limit, taken: map[string]int{}}
		var kinds []string
		for file := range f.all(t.Context()) {
			kinds = append(kinds, file.kind)
		}
		if f.taken[kindLicence] != c.licences || f.taken[kindSource] != c.sources || f.more != c.more || len(kinds) != c.licences+c.sources || c.limit > 0 && !slices.IsSorted(kinds) {
			t.Errorf("limit %d: %+v %v, want %+v", c.limit, f.taken, f.more, c)
		}
	}
	// Whoever stops reading stops the walk.
	next, stop := iter.Pull((&fileFinder{dir: dir, taken: map[string]int{}}).all(t.Context()))
	if _, ok := next(); !ok {
		t.Error("no first file")
	}
	stop()
	ended, end := context.WithCancel(t.Context())
	end()
	for file := range (&fileFinder{dir: dir, taken: map[string]int{}}).all(ended) {
		t.Errorf("%v after the end", file)
	}
}

func TestModuleCache_IsWhereGoHasIt(t *testing.T) {
	t.Parallel()
	settings := filepath.Join(t.TempDir(), "env")
	write(t, settings, "GOPROXY=direct\nGOPATH=/written\n")
	for _, c := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"GOMODCACHE": "/m", "GOPATH": "/p", "HOME": "/h"}, "/m"},
		{map[string]string{"GOPATH": "/p:/q", "HOME": "/h"}, "/p/pkg/mod"},
		{map[string]string{"GOENV": settings, "HOME": "/h"}, "/written/pkg/mod"},
		{map[string]string{"GOENV": settings, "GOPATH": "/p", "HOME": "/h"}, "/p/pkg/mod"},
		{map[string]string{"GOENV": "off", "HOME": "/h"}, "/h/go/pkg/mod"},
		{map[string]string{"HOME": "/h"}, "/h/go/pkg/mod"},
		{nil, ""},
	} {
		a := &app{getenv: func(name string) string { return c.env[name] }}
		if got := a.moduleCache(); got != c.want {
			t.Errorf("%v: %q, want %q", c.env, got, c.want)
		}
	}
}

func TestScreen_KeepsItsLiveLineBelowWhatOthersWrite(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	s := &screen{out: &out, width: 12}
	s.show("1 of 3")
	s.show("2 of 3, and much more")
	s.say("hello")
	s.clear()
	const erase = "\r\x1b[K"
	if want := "1 of 3" + erase + "2 of 3, an…" + erase + "bellhop: hello\n2 of 3, an…" + erase; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	var file strings.Builder
	s = newScreen(&file)
	s.show("too soon")
	s.shown = s.shown.Add(-time.Second)
	s.show("in time")
	s.show("too soon again")
	s.clear()
	if file.String() != "in time\n" {
		t.Errorf("not on a terminal: %q", file.String())
	}
}

func TestPsql_HidesPasswordsAndSurvivesAShell(t *testing.T) {
	t.Parallel()
	if got := psql("postgres://u:secret@h/d'x", ""); got != `psql 'postgres://u:xxxxx@h/d'\''x'` {
		t.Error(got)
	}
	if strings.ContainsAny(demoShow, "\"$`\\!") {
		t.Errorf("the query does not fit between double quotes: %s", demoShow)
	}
}

func TestGrouped(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := grouped(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}
