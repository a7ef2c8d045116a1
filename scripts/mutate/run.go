package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// limit is how long the tests of one guard may take. The go command is told a shorter one: then a test that hangs is
// named.
const (
	limit = 10 * time.Minute
	hangs = limit - time.Minute
)

// result is what became of one guard. Without a test, why says what is wrong: the guard was not noticed, or its entry
// is faulty.
type result struct {
	guard
	test string // the first test that failed
	took time.Duration
	why  string
}

func (r result) String() string {
	if r.test == "" {
		return r.why
	}
	return fmt.Sprintf("noticed by %s in %.0f s", r.test, r.took.Seconds())
}

// runner has a copy of the tree. All guards share it, so that only what a mutation changes is built again.
type runner struct {
	dir     string
	commit  string
	program texts
	asked   map[string]error // what tests say of the tree as it is, by packages and expression
}

func newRunner(ctx context.Context) (*runner, error) {
	names, err := exec.CommandContext(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		return nil, fmt.Errorf("the files of the tree: %w", err)
	}
	commit, err := exec.CommandContext(ctx, "git", "rev-parse", "--short=10", "HEAD").Output()
	if err != nil {
		return nil, fmt.Errorf("the commit: %w", err)
	}
	dir, err := os.MkdirTemp("", "bellhop-mutate-")
	if err != nil {
		return nil, err
	}
	r := &runner{dir: dir, commit: strings.TrimSpace(string(commit)), asked: map[string]error{}}
	for name := range strings.SplitSeq(strings.TrimRight(string(names), "\x00"), "\x00") {
		if err := r.copy(name); err != nil {
			r.close()
			return nil, err
		}
	}
	if r.program, err = readProgram(dir); err != nil {
		r.close()
	}
	return r, err
}

func (r *runner) close() { _ = os.RemoveAll(r.dir) }

func (r *runner) copy(name string) error {
	info, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // removed, and not yet committed
	} else if err != nil {
		return err
	}
	to := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(name)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, info.Mode().Perm())
}

// takeOut runs the guard's tests on the tree as it is, and then without the guard.
func (r *runner) takeOut(ctx context.Context, g guard) (got result) {
	got.guard = g
	file, _, err := r.program.find(g.text)
	if err != nil {
		got.why = "a fault of the entry: " + err.Error()
		return got
	}
	if err := r.asIs(ctx, g); err != nil {
		got.why = "a fault of the entry: its tests do not pass while the guard is there: " + err.Error()
		return got
	}
	back, err := r.cut([]cut{g.cut})
	defer func() {
		if err := back(); err != nil {
			got.test, got.why = "", err.Error()
		}
	}()
	if err != nil {
		got.why = err.Error()
		return got
	}
	if strings.HasSuffix(file, ".go") { // else a test that builds the program itself would seem to notice
		if out, err := r.goCommand(ctx, "build", filepath.Dir(file)); err != nil {
			got.why = "a fault of the entry: it does not build: " + out
			return got
		}
	}
	begin := time.Now()
	out, err := r.test(ctx, g)
	got.took = time.Since(begin)
	switch {
	case err == nil:
		got.why = fmt.Sprintf("NOT NOTICED in %.0f s", got.took.Seconds())
	case failed(out) == "":
		got.why = "a fault of the entry: " + last(out)
	default:
		got.test = failed(out)
	}
	return got
}

// cut changes the copy. What it gives puts back what was there, after an error too.
func (r *runner) cut(cuts []cut) (back func() error, err error) {
	before := texts{}
	back = func() (err error) {
		for file, text := range before {
			err = errors.Join(err, os.WriteFile(file, []byte(text), 0o600))
		}
		return err
	}
	now := texts{}
	for _, c := range cuts {
		file, text, err := r.program.find(c.text)
		if err != nil {
			return back, err
		}
		if now[file] == "" {
			before[file], now[file] = text, text
		}
		now[file] = strings.Replace(now[file], c.text, c.instead, 1)
	}
	for file, text := range now {
		err = errors.Join(err, os.WriteFile(file, []byte(text), 0o600))
	}
	return back, err
}

// asIs runs the guard's tests while it is there, once for all guards that share them.
func (r *runner) asIs(ctx context.Context, g guard) error {
	key := strings.Join(g.tests, " ") + " " + g.run
	err, known := r.asked[key]
	if !known {
		out, failure := r.test(ctx, g)
		switch {
		case failure != nil:
			err = fmt.Errorf("%w: %s", failure, last(out))
		case !strings.Contains(out, "--- PASS: "):
			err = errors.New("none ran: " + last(out))
		}
		r.asked[key] = err
	}
	return err
}

func (r *runner) test(ctx context.Context, g guard) (string, error) {
	packages, err := testsOf(r.dir, g)
	if err != nil {
		return "", err
	}
	return r.goCommand(ctx, append([]string{"test", "-v", "-vet=off", "-count=1", "-failfast", "-timeout",
		hangs.String(), "-run", g.run}, packages...)...)
}

// goCommand runs the go command in the copy. It is killed with its children at the limit.
func (r *runner) goCommand(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = r.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}

var (
	fail    = regexp.MustCompile(`(?m)^\s*--- FAIL: (Test\w+)`)
	hung    = regexp.MustCompile(`(?m)^\s*running tests:\n\s*(Test\w+)`)
	crashed = regexp.MustCompile(`(?m)^panic: |^fatal error: |^FAIL\s`)
	began   = regexp.MustCompile(`(?m)^=== RUN\s+(Test\w+)`)
)

// failed is the first test that failed, hung, or ran last before its process ended; empty: there is none.
func failed(out string) string {
	for _, way := range []*regexp.Regexp{fail, hung} {
		if m := way.FindStringSubmatch(out); m != nil {
			return m[1]
		}
	}
	if all := began.FindAllStringSubmatch(out, -1); all != nil && crashed.MatchString(out) {
		return all[len(all)-1][1]
	}
	return ""
}

// last is the end of an output.
func last(out string) string {
	const most = 2000
	out = strings.TrimSpace(out)
	return out[max(0, len(out)-most):]
}

// texts are the files of the program, by path.
type texts map[string]string

// readProgram reads the files that may have guards: Go that is no test, and SQL that no generator writes.
func readProgram(root string) (texts, error) {
	files := texts{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && apart[name]:
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, ".sql"):
			return nil
		case strings.HasSuffix(name, "_test.go") || name == "schema.golden.sql" || name == "rights.sql":
			return nil
		}
		text, err := os.ReadFile(path)
		files[path] = string(text)
		return err
	})
	return files, err
}

// apart are folders without parts of the program: this command quotes the guards.
var apart = map[string]bool{".git": true, "testdata": true, "mutate": true, "bench": true, "examples": true}

// find tells which file has the text, with what stands in it. The text stands once in all of them.
func (f texts) find(text string) (file, whole string, err error) {
	n := 0
	for path, content := range f {
		if here := strings.Count(content, text); here > 0 {
			n += here
			file, whole = path, content
		}
	}
	if n != 1 {
		return "", "", fmt.Errorf("the text stands %d times in the program, and not once: %q", n, text)
	}
	return file, whole, nil
}
