package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/cmd/bellhop/internal/clitest"
)

// user is a user with a home of its own, and nothing else in the environment.
type user struct {
	t   *testing.T
	env map[string]string
}

func newUser(t *testing.T) *user {
	return &user{t, map[string]string{"HOME": t.TempDir()}}
}

func (u *user) file() string {
	return filepath.Join(u.env["HOME"], ".config", "bellhop", "contexts.yaml")
}

func (u *user) run(args ...string) result {
	var stdout, stderr bytes.Buffer
	code := u.on(strings.NewReader(""), &stdout, &stderr, args...)
	return result{code, stdout.String(), stderr.String()}
}

func (u *user) on(stdin io.Reader, stdout, stderr io.Writer, args ...string) int {
	a := &cli.App{Stdin: stdin, Stdout: stdout, Stderr: stderr, Getenv: func(name string) string { return u.env[name] }}
	root := newRoot(a)
	root.SetArgs(append([]string{"--data-dir", "/nonexistent"}, args...))
	return a.Report(root.ExecuteContext(context.Background()))
}

func (u *user) ok(args ...string) string {
	u.t.Helper()
	r := u.run(args...)
	if r.code != 0 {
		u.t.Fatalf("bellhop %q: %d: %s", args, r.code, r.stderr)
	}
	return r.stdout
}

func (u *user) fails(code int, says string, args ...string) {
	u.t.Helper()
	if r := u.run(args...); r.code != code || !strings.Contains(r.stderr, says) {
		u.t.Errorf("bellhop %q: %d, want %d with %q: %s%s", args, r.code, code, says, r.stdout, r.stderr)
	}
}

func TestContext_NamesTheDatabaseOfACommand(t *testing.T) {
	t.Parallel()
	s, other, u := newHarness(t), newHarness(t), newUser(t)
	s.id("a", "--key", "here")
	u.fails(cli.ExitNoDatabase, "no database", "ls")
	u.ok("context", "add", "prod", s.url)
	u.ok("context", "add", "dev", other.url)
	u.fails(cli.ExitState, "already", "context", "add", "dev", s.url)
	u.fails(cli.ExitUsage, "not a name", "context", "add", "a b", s.url)
	u.fails(cli.ExitUsage, "no URL", "context", "add", "c", "mysql://x")
	u.fails(cli.ExitUsage, "no URL", "context", "add", "c", "-")
	has(t, u.ok("--context", "prod", "ls"), "here")
	u.env[cli.ContextVariable] = "prod"
	u.env["DATABASE_URL"] = other.url
	has(t, u.ok("ls"), "here")
	if out := u.ok("--context", "dev", "ls"); strings.Contains(out, "here") {
		t.Errorf("--context wins over BELLHOP_CONTEXT: %s", out)
	}
	if out := u.ok("--database-url", other.url, "ls"); strings.Contains(out, "here") {
		t.Errorf("--database-url wins: %s", out)
	}
	delete(u.env, cli.ContextVariable)
	u.ok("context", "use", "prod")
	if out := u.ok("ls"); strings.Contains(out, "here") {
		t.Errorf("DATABASE_URL wins over the context in use: %s", out)
	}
	delete(u.env, "DATABASE_URL")
	has(t, u.ok("ls"), "here")
	has(t, u.ok("context", "show"), "context prod")
	u.fails(cli.ExitUsage, "there is no context \"prdo\"", "--context", "prdo", "ls")
	u.fails(cli.ExitNotFound, "there is no context \"x\"", "context", "use", "x")
	u.fails(cli.ExitUsage, "NAME, or --none", "context", "use")
	u.ok("context", "rm", "prod")
	u.fails(cli.ExitNoDatabase, "no database", "ls")
	has(t, u.ok("context", "ls"), "dev")
}

// A password is kept from other users and from the screen.
func TestContext_KeepsPasswords(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	url := strings.NewReader("postgres://ops:secret@db1/shop\n")
	if code := u.on(url, io.Discard, io.Discard, "context", "add", "prod", "-"); code != 0 {
		t.Fatal(code)
	}
	for _, line := range []string{"context ls", "context show prod", "context ls -o json", "--context prod context show"} {
		if out := u.ok(strings.Fields(line)...); strings.Contains(out, "secret") || !strings.Contains(out, "ops:xxxxx@db1") {
			t.Errorf("%s: %s", line, out)
		}
	}
	if err := os.Chmod(u.file(), 0o640); err != nil {
		t.Fatal(err)
	}
	u.fails(cli.ExitUsage, "chmod 600", "--context", "prod", "ls")
	clitest.Write(t, u.file(), "contexts: [{name: prod, url: x=1}]\n")
	u.fails(cli.ExitUsage, "contexts.yaml:1:", "context", "ls")
}

func TestContext_AChangeSaysWhichDatabaseItIs(t *testing.T) {
	t.Parallel()
	s, u := newHarness(t), newUser(t)
	u.ok("context", "add", "prod", s.url)
	says := func(want bool, args ...string) {
		t.Helper()
		if r := u.run(args...); r.code != 0 || strings.Contains(r.stderr, "bellhop: changing ") != want {
			t.Errorf("bellhop %q: %d: %s", args, r.code, r.stderr)
		}
	}
	says(true, "--context", "prod", "submit", "a", "--key", "k")
	says(false, "--context", "prod", "submit", "a", "-q")
	says(false, "--context", "prod", "submit", "a", "-o", "json")
	says(false, "--database-url", s.url, "submit", "a")
	says(false, "--context", "prod", "ls")
	says(false, "--context", "prod", "cancel", "k", "--dry-run")
	screen, program := clitest.Terminal(t, 80)
	if code := u.on(strings.NewReader(""), io.Discard, program, "--database-url", s.url, "cancel", "k"); code != 0 {
		t.Error(code)
	}
	program.Close()
	if text, _ := io.ReadAll(screen); !strings.Contains(string(text), "changing ") {
		t.Errorf("on a terminal: %q", text)
	}
}

func TestContext_AProtectedOneIsAskedAbout(t *testing.T) {
	t.Parallel()
	s, u := newHarness(t), newUser(t)
	s.id("a", "--key", "k", "--hold")
	u.ok("context", "add", "prod", s.url, "--protected")
	u.fails(cli.ExitUsage, "context prod is protected", "--context", "prod", "release", "k")
	u.fails(cli.ExitUsage, "context prod is protected", "--context", "prod", "migrate")
	has(t, u.ok("--context", "prod", "show", "k"), "held")
	for _, answer := range []struct {
		typed string
		code  int
	}{{"n\n", cli.ExitUsage}, {"y\n", 0}} {
		screen, program := clitest.Terminal(t, 80)
		if _, err := screen.WriteString(answer.typed); err != nil {
			t.Fatal(err)
		}
		if code := u.on(program, program, io.Discard, "--context", "prod", "release", "k"); code != answer.code {
			t.Errorf("answer %q: %d", answer.typed, code)
		}
		program.Close()
	}
	s.id("a", "--key", "l", "--hold")
	u.ok("--context", "prod", "--yes", "release", "l")
}

// A command that is not said to change anything works where the server takes no writes.
func TestContext_OtherCommandsChangeNothing(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	for _, name := range leaves() {
		c, is := withDatabase[name]
		if !is || slices.Contains(changing, name) || strings.Contains(c.args, "FILE") {
			continue
		}
		line := append(strings.Fields(name), strings.Fields(c.args)...)
		r := command(append(line, "--database-url", s.url+"&options=-c%20default_transaction_read_only%3Don")...)
		if strings.Contains(r.stderr, "read-only transaction") {
			t.Errorf("bellhop %s changes something: %s", name, r.stderr)
		}
	}
}
