package migrate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"sort"
	"strconv"
	"strings"
)

const (
	// baseline is the schema version that the files of baseline/ make, in one step. Numbered files follow from there.
	baseline = 48
	// lastWithHistory is the newest schema version whose binaries have the migrations before the baseline.
	lastWithHistory = 58
)

// Step is one thing that a migration will do or did.
type Step struct {
	Version int    // 0 for a script that is put in place again
	Name    string // the file's name, or that of the baseline
	Text    string
	// WorksFrom is the schema version of the oldest binary that may be started after this step; 0: only one that knows it.
	WorksFrom int
	first     bool // it finds no schema, nor the migrator's own tables
	sum       string
}

// Plan is what a binary wants a database to be.
type Plan struct {
	numbered []Step // with the baseline, if there is one, before all others
	// scripts reads the functions and triggers: only a migration needs them, and every command makes a plan.
	scripts func() ([]Step, error)
}

// New reads a plan: baseline/*.sql, migrations/NNNN_name.sql and functions/*.sql from
// migrations, and every .sql of scripts. Without a baseline the numbers begin at 1. What is wrong with a function or
// a script is told by Pending and Run.
func New(migrations, scripts fs.FS) (Plan, error) {
	var p Plan
	files, err := read(migrations, "migrations/*.sql")
	if err != nil {
		return p, err
	}
	if p.numbered, err = readBaseline(migrations); err != nil {
		return p, err
	}
	for _, s := range files {
		if s.Version, err = follows(s.Name, p.Version()); err != nil {
			return p, err
		}
		if s.WorksFrom, err = worksFrom(s.Text); err != nil {
			return p, fmt.Errorf("migration %s: %w", s.Name, err)
		}
		if s.WorksFrom > s.Version {
			return p, fmt.Errorf("migration %s says that it works from %04d, which comes after it; write an older one",
				s.Name, s.WorksFrom)
		}
		p.numbered = append(p.numbered, s)
	}
	if len(p.numbered) > 0 {
		p.numbered[0].first = true
	}
	p.scripts = func() ([]Step, error) {
		functions, err := read(migrations, "functions/*.sql")
		if err != nil {
			return nil, err
		}
		triggers, err := read(scripts, "*.sql")
		return append(functions, triggers...), err
	}
	return p, nil
}

// readBaseline gives one step for all files of the baseline, in the order of their names, or none.
func readBaseline(migrations fs.FS) ([]Step, error) {
	files, err := read(migrations, "baseline/*.sql")
	if err != nil || len(files) == 0 {
		return nil, err
	}
	var text strings.Builder
	for _, file := range files {
		fmt.Fprintf(&text, "-- baseline/%s\n%s\n", file.Name, file.Text)
	}
	return []Step{{Version: baseline, Name: fmt.Sprintf("%04d_baseline", baseline), Text: text.String()}}, nil
}

// follows is the number of a file's name, which must be the next one.
func follows(name string, last int) (int, error) {
	number, _, _ := strings.Cut(name, "_")
	n, err := strconv.Atoi(number)
	if err != nil || n != last+1 {
		return 0, fmt.Errorf("migration %s: want number %04d", name, last+1)
	}
	return n, nil
}

// read gives the files of a pattern in the order of their names.
func read(files fs.FS, pattern string) ([]Step, error) {
	names, err := fs.Glob(files, pattern)
	if err != nil {
		return nil, err
	}
	sort.Strings(names)
	var steps []Step
	for _, name := range names {
		file, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		text, err := withGrants(string(file))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		sum := sha256.Sum256([]byte(text))
		steps = append(steps, Step{Name: path.Base(name), Text: text, sum: hex.EncodeToString(sum[:8])})
	}
	return steps, nil
}

// worksFromLine is what a migration says in its first line of the binaries that may be started after it.
const worksFromLine = "-- Works from: "

// worksFrom reads that line; 0: there is none.
func worksFrom(text string) (int, error) {
	first, _, _ := strings.Cut(text, "\n")
	number, said := strings.CutPrefix(first, worksFromLine)
	if !said {
		return 0, nil
	}
	n, err := strconv.Atoi(strings.TrimSpace(number))
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%q names no schema version; write %s0051: the schema of the oldest binary that may start "+
			"after it, which is that of the last migration with such a line, unless this one takes something away",
			first, worksFromLine)
	}
	return n, nil
}

// Version is the schema version that this plan leads to.
func (p Plan) Version() int {
	if len(p.numbered) == 0 {
		return 0
	}
	return p.numbered[len(p.numbered)-1].Version
}

// first is the version that the plan's first step makes: of an older schema it knows no way on.
func (p Plan) first() int {
	if len(p.numbered) == 0 {
		return 0
	}
	return p.numbered[0].Version
}
