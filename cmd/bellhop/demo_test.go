package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/cmd/bellhop/internal/clitest"
	"bellhop/cmd/bellhop/internal/demo"
	"bellhop/pgdev/pgtest"
)

// The tests' program is bellhop itself where the demo starts it as its agent,
// and where a test wants a bellhop that it can send signals to.
func init() {
	if os.Getenv("BELLHOP_TEST_PROGRAM") == "1" || len(os.Args) > 1 && os.Args[1] == demo.Agent {
		if len(os.Args) > 1 && os.Args[1] == demo.Agent {
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
	dir := clitest.Tree(t, map[string]string{
		"a/LICENSE": goLicence(t), "a/mit.go": "// SPDX-License-Identifier: MIT\npackage a\n", "b/apache.go": apacheHead, "b/bare.go": "package b\n", "b/data": "-",
	})
	kept := filepath.Join(pgtest.Dir(t), "kept")
	first := command("demo", dir, "--keep", "--data-dir", kept)
	lastLine(t, first, 0, "files=4 found=3 none=1 failed=0")
	has(t, first.stdout, "BSD-3-Clause", "Apache-2.0", "MIT", "(none found)", "1 licence-like file, 3 source files", "Job 1 did 4 files with 1 agent",
		"had the first file:", "From the INSERT of a single job until a warm agent had it: ", "psql 'postgres://", "bellhop serve --data-dir "+kept)

	if strings.Contains(first.stdout, "It is ") {
		t.Errorf("its job did not succeed:\n%s", first.stdout)
	}

	again := command("demo", dir, "--keep", "--data-dir", kept)
	lastLine(t, again, 0, "files=4 found=3 none=1 failed=0")
	has(t, again.stdout, "Nothing to do", "BSD-3-Clause")
	has(t, again.stderr, "nothing to do")

	clitest.Write(t, filepath.Join(dir, "b", "new.c"), "/* SPDX-License-Identifier: ISC */\n")
	var report struct {
		Files, Found, None, Failed int
		Licences                   []demo.Count
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
	s := &harness{t: t, url: pgtest.URL(t)}
	dir := clitest.Tree(t, map[string]string{
		"LICENSE/": "", "LICENSE/COPYING": goLicence(t), "NOTICE": "",
		"ünïcode \"\\\n.go":  "// SPDX-License-Identifier: MIT\n",
		"not utf-8 \xff.go":  "// SPDX-License-Identifier: MIT\n",
		"not utf-8 \\xff.go": "// SPDX-License-Identifier: MIT\n", // looks like the one before
	})
	path := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		os.Symlink("nowhere", path("LICENSE.dangling")), os.Symlink("LICENSE.loop", path("LICENSE.loop")),
		os.Symlink(".", path("LICENSE.folder")),
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
	has(t, r.stdout, "given up after 3 tries", "It failed: no_progress")

	// What looks like the demo's table but is not stays as it is.
	s.sql("comment on table demo.file is null")
	r = s.run("demo", dir) // on a slow machine it says first how far it is
	if r.code != cli.ExitState || !strings.Contains(r.stderr, "bellhop: demo: ") || !strings.Contains(r.stderr, "not the demo's") {
		t.Errorf("%+v", r)
	}
}

func TestDemo_RefusesWhatHoldsNoFiles(t *testing.T) {
	t.Parallel()
	dir := clitest.Tree(t, map[string]string{"empty/": "", "other/data.bin": "x", "git/.git/LICENSE": "x", "file": "x"})
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
		if r.code != cli.ExitUsage || r.stdout != "" || !strings.Contains(r.stderr, c.says) {
			t.Errorf("%q: %+v, want %q", c.args, r, c.says)
		}
	}
	if r := command("demo", ""); r.code != cli.ExitUsage || !strings.Contains(r.stderr, "empty") {
		t.Errorf("no name: %+v", r)
	}
}

func TestDemo_IsNotTurnedAwayByTheEnvironment(t *testing.T) { // no t.Parallel: it sets variables
	t.Setenv("DATABASE_URL", "postgres://u@127.0.0.1:1/d") // must not be touched
	t.Setenv("PGHOST", "127.0.0.1")
	cache := clitest.Tree(t, map[string]string{"cache/download/LICENSE": "x", "m@v1/LICENSE": goLicence(t)})
	t.Setenv("GOMODCACHE", cache)
	r := command("demo")
	lastLine(t, r, 0, "files=1 found=1 none=0 failed=0")
	gone(t, r.stderr)
	t.Setenv("GOMODCACHE", filepath.Join(cache, "none"))
	if r := command("demo"); r.code != cli.ExitUsage || !strings.Contains(r.stderr, "no Go module cache in") {
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
				if text, err := os.ReadFile(path); err == nil &&
					(strings.Contains(string(text), dir) || strings.Contains(string(text), url.QueryEscape(dir))) {
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
		{"interrupted early", syscall.SIGINT, "psql", cli.ExitInterrupted},
		{"told to end at work", syscall.SIGTERM, "[1-9] agents?", cli.ExitInterrupted},
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
	dir := clitest.Tree(t, files)
	db := newHarness(t)
	s := start(t, dir, "--database-url", db.url)
	s.until(t, "psql")
	count := func(query string) (n int) {
		if err := db.conn.QueryRow(t.Context(), query).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	// It stands still meanwhile: on a quick machine it would be over before the other has given up.
	pgtest.Freeze(t, s.Process.Pid)
	other := db.run("demo", dir)
	if err := s.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if other.code != cli.ExitState || !strings.Contains(other.stderr, "another demo runs") {
		t.Errorf("a second demo at the same time: %+v", other)
	}
	pgtest.Eventually(t, 2*time.Minute, "the first file is done", func() bool {
		return count("select count(*) from demo.file where licence is not null") > 0
	})
	if err := s.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := s.ended(); code != cli.ExitInterrupted {
		t.Fatalf("it ended by itself with %d\n%s", code, s.said.String())
	}
	if n := count("select count(*) from bellhop.jobqueue where state not in ('cancelled', 'succeeded')"); n != 0 {
		t.Errorf("%d jobs are left in the queue", n)
	}
	lastLine(t, db.run("demo", dir), 0, "files=1400 found=1400 none=0 failed=0")
}
