package agents

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// defaultPath is for a scheduler that was itself started without a PATH.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// environment is the child's whole environment: PATH, HOME, LANG and TMPDIR,
// then what is configured, then what the line brings; the later wins.
func environment(configured map[string]string, home string, extra []string) []string {
	vars := map[string]string{"PATH": orElse(os.Getenv("PATH"), defaultPath), "LANG": orElse(os.Getenv("LANG"), "C.UTF-8")}
	if home = orElse(home, os.Getenv("HOME")); home != "" {
		vars["HOME"] = home
	}
	if dir := os.Getenv("TMPDIR"); dir != "" {
		vars["TMPDIR"] = dir
	}
	for name, value := range configured {
		vars[name] = value
	}
	for _, pair := range extra {
		name, value, _ := strings.Cut(pair, "=")
		vars[name] = value
	}
	env := make([]string, 0, len(vars))
	for name, value := range vars {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// commandError is a command that cannot be run: ExitCode is what a shell would
// give, 127 for not found and 126 for not executable.
type commandError struct {
	path string
	why  string
	code int
	see  string // where the command stands; empty: in the configuration
}

func (e *commandError) Error() string {
	if e.path == "" {
		return e.why
	}
	return fmt.Sprintf("%s: %s; %s", e.path, e.why, orElse(e.see, "see agents[].command in bellhop.yaml"))
}

// findCommand returns the absolute path of the command's program.
func findCommand(command []string, workDir string, env []string) (string, error) {
	if len(command) == 0 || command[0] == "" {
		return "", &commandError{path: "(no command)", why: "the agent has no command", code: 127}
	}
	name := command[0]
	if workDir != "" {
		if info, err := os.Stat(workDir); err != nil || !info.IsDir() {
			return "", &commandError{path: workDir, why: "no such directory to work in (workdir)", code: 126}
		}
	}
	if strings.Contains(name, "/") {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(workDir, name)
		}
		path, err := filepath.Abs(path)
		if err != nil {
			return "", &commandError{path: name, why: "no working directory to look in", code: 127}
		}
		return path, executable(path)
	}
	searched := pathOf(env)
	var denied error
	for _, dir := range filepath.SplitList(searched) {
		if !filepath.IsAbs(dir) {
			continue // a name must not mean whatever lies in the current directory
		}
		path := filepath.Join(dir, name)
		err := executable(path)
		if err == nil {
			return path, nil
		}
		var e *commandError
		if errors.As(err, &e) && e.code == 126 && denied == nil {
			denied = err
		}
	}
	if denied != nil {
		return "", denied
	}
	return "", &commandError{path: name, why: "not found on PATH " + searched, code: 127}
}

func pathOf(env []string) string {
	for _, pair := range env {
		if value, ok := strings.CutPrefix(pair, "PATH="); ok {
			return value
		}
	}
	return defaultPath
}

func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return &commandError{path: path, why: "no such file", code: 127}
	case err != nil:
		return &commandError{path: path, why: errors.Unwrap(err).Error(), code: 126}
	case info.IsDir():
		return &commandError{path: path, why: "is a directory", code: 126}
	case info.Mode()&0o111 == 0:
		return &commandError{path: path, why: "not executable; try: chmod +x " + path, code: 126}
	}
	return nil
}

// execError puts the errno of an exec that failed into words.
func execError(path string, errno syscall.Errno) error {
	switch errno {
	case syscall.ENOENT: // the file itself was there a moment ago
		return &commandError{path: path, why: "the interpreter on its first line does not exist", code: 127}
	case syscall.ENOEXEC:
		return &commandError{path: path, why: "not a program; does it lack a #! line?", code: 126}
	case syscall.EACCES:
		return &commandError{path: path, why: "the agent's user may not run it, or not enter its directories", code: 126}
	case syscall.EPERM:
		return &commandError{path: path, why: "not permitted; only root can drop to another user (agents[].user)", code: 126}
	case syscall.E2BIG:
		return errArgsTooLong
	case syscall.EINVAL:
		return &commandError{path: path, why: "an argument or variable holds a zero byte", code: 126}
	}
	return fmt.Errorf("exec %s: %w", path, errno)
}

// errArgsTooLong is exactly the reason that the job ends with.
var errArgsTooLong = errors.New("args_too_long")
