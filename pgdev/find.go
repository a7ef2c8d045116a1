//go:build unix

package pgdev

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// oldest is the first major version of PostgreSQL that bellhop works with.
const oldest = 14

// ErrNotFound says that this machine has no PostgreSQL that will do. The error
// around it names what was looked at and what to type.
var ErrNotFound = errors.New("no PostgreSQL 14 or newer was found on this machine")

// Binaries is an installation of PostgreSQL's server programs.
type Binaries struct {
	Dir     string // the folder that holds initdb and postgres
	Version string // as the server tells it, such as 15.18
	Major   int    // such as 15
}

// Find looks for PostgreSQL's server programs in this order: the folder named
// by BELLHOP_PG_BIN (nothing else is tried when it is set), what `pg_config
// --bindir` says, PATH, and the places where the systems' packages put them,
// the highest version first. Older than 14 is passed over.
//
// The error wraps ErrNotFound, names every place looked at and says exactly
// what to type.
func Find() (Binaries, error) { return system.find(0) }

// places is where programs are looked for.
type places struct {
	getenv func(string) string
	globs  []string // folders of packages, in order
}

// system is this machine. The order in globs matters only between packagings;
// inside one, the highest version is tried first.
var system = places{getenv: os.Getenv, globs: []string{
	"/usr/lib/postgresql/*/bin", // Debian, Ubuntu
	"/usr/pgsql-*/bin",          // PostgreSQL's own RPMs
	"/usr/libexec/postgresql*",  // Alpine
	"/opt/homebrew/opt/postgresql@*/bin",
	"/usr/local/opt/postgresql@*/bin",
	"/home/linuxbrew/.linuxbrew/opt/postgresql@*/bin",
	"/Applications/Postgres.app/Contents/Versions/*/bin",
	"/usr/local/pgsql/bin", // built from source
}}

// find gives the first installation that is new enough; with major, the first
// of just that version (a cluster can be run by the version that made it only).
func (p places) find(major int) (Binaries, error) {
	var looked []string
	seen := map[string]bool{}
	for _, place := range p.candidates() {
		if place.problem != "" {
			looked = append(looked, place.name+" ("+place.problem+")")
			continue
		}
		if seen[place.dir] {
			continue
		}
		seen[place.dir] = true
		b, err := inspect(place.dir)
		switch {
		case err != nil:
			looked = append(looked, place.name+" ("+err.Error()+")")
		case b.Major < oldest:
			looked = append(looked, fmt.Sprintf("%s (%s is PostgreSQL %s: too old)", place.name, place.dir, b.Version))
		case major != 0 && b.Major != major:
			looked = append(looked,
				fmt.Sprintf("%s (%s is PostgreSQL %s, needed is %d)", place.name, place.dir, b.Version, major))
		default:
			return b, nil
		}
	}
	var b strings.Builder
	b.WriteString("looked at:")
	for _, l := range looked {
		b.WriteString("\n  " + l)
	}
	b.WriteString("\n" + p.advice(major))
	if major != 0 {
		return Binaries{}, fmt.Errorf("%w in the one version that can run this cluster, %d; %s", ErrNotFound, major,
			b.String())
	}
	return Binaries{}, fmt.Errorf("%w; %s", ErrNotFound, b.String())
}

// candidate is a folder to look into, or the reason why a place names none.
type candidate struct{ name, dir, problem string }

func (p places) candidates() []candidate {
	if dir := p.getenv("BELLHOP_PG_BIN"); dir != "" {
		return []candidate{{name: "BELLHOP_PG_BIN=" + dir, dir: dir}}
	}
	list := []candidate{{name: "BELLHOP_PG_BIN", problem: "not set"}, p.fromPgConfig(), p.fromPath()}
	for _, glob := range p.globs {
		dirs, _ := filepath.Glob(glob) // the only error is a bad pattern, and ours are fixed
		if len(dirs) == 0 {
			list = append(list, candidate{name: glob, problem: "nothing there"})
		}
		slices.SortFunc(dirs, func(a, b string) int { return slices.Compare(numbers(b), numbers(a)) })
		for _, dir := range dirs {
			list = append(list, candidate{name: glob, dir: dir})
		}
	}
	return list
}

func (p places) fromPgConfig() candidate {
	c := candidate{name: "pg_config --bindir"}
	program, ok := p.lookPath("pg_config")
	if !ok {
		c.problem = "no pg_config in PATH"
		return c
	}
	out, err := output(program, "--bindir")
	if err != nil {
		c.problem = err.Error()
		return c
	}
	c.dir = strings.TrimSpace(out)
	return c
}

func (p places) fromPath() candidate {
	c := candidate{name: "PATH"}
	program, ok := p.lookPath("initdb")
	if !ok {
		c.problem = "no initdb in it"
		return c
	}
	// A link in /usr/local/bin leads to the folder that also holds postgres
	// and from which it finds its libraries.
	if real, err := filepath.EvalSymlinks(program); err == nil {
		program = real
	}
	c.dir = filepath.Dir(program)
	return c
}

// lookPath is exec.LookPath with the PATH of p.
func (p places) lookPath(name string) (string, bool) {
	for _, dir := range filepath.SplitList(p.getenv("PATH")) {
		if path := filepath.Join(dir, name); filepath.IsAbs(dir) && executable(path) {
			return path, true
		}
	}
	return "", false
}

// inspect tells what PostgreSQL lives in dir.
func inspect(dir string) (Binaries, error) {
	dir, err := filepath.Abs(dir) // it is run with another working folder
	if err != nil {
		return Binaries{}, err
	}
	for _, name := range []string{"initdb", "postgres"} {
		if !executable(filepath.Join(dir, name)) {
			return Binaries{}, fmt.Errorf("no %s in %s", name, dir)
		}
	}
	out, err := output(filepath.Join(dir, "postgres"), "--version")
	if err != nil {
		return Binaries{}, err
	}
	// "postgres (PostgreSQL) 15.18 (Debian …)", "postgres (PostgreSQL) 19devel"
	_, rest, _ := strings.Cut(out, ") ")
	version, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	n := numbers(version)
	if len(n) == 0 {
		return Binaries{}, fmt.Errorf("%s/postgres --version says %q", dir, strings.TrimSpace(out))
	}
	return Binaries{Dir: dir, Version: version, Major: n[0]}, nil
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// output runs a program that answers at once; one that hangs is given up.
func output(program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", program, err)
	}
	return string(out), nil
}

// numbers gives the numbers in s, in order: 9.6 sorts before 14, and 14 before 15.3.
func numbers(s string) []int {
	var list []int
	for _, digits := range strings.FieldsFunc(s, func(r rune) bool { return r < '0' || r > '9' }) {
		if n, err := strconv.Atoi(digits); err == nil {
			list = append(list, n)
		}
	}
	return list
}
