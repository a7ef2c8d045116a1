package torture

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"bellhop/cmd/bellhop/internal/cli"
)

// line is one fault of the table.
type line struct {
	Fault     string         `json:"fault"`
	Histories int            `json:"histories"`
	Jobs      int            `json:"jobs"`
	Strokes   int            `json:"strokes"`
	Violated  map[string]int `json:"violations"`
	P50       float64        `json:"recovery_p50"` // in seconds
	Max       float64        `json:"recovery_max"`
	words     string
	took      []time.Duration
}

// report is the table of faults and invariants.
type report struct {
	seed    uint64
	dir     string
	lines   []*line
	skipped []string
}

func (r *report) skip(f fault, why string) {
	r.skipped = append(r.skipped, fmt.Sprintf("SKIPPED: %s: %s", f.name, why))
}

// add counts one history.
func (r *report) add(out outcome) {
	at := slices.IndexFunc(r.lines, func(l *line) bool { return l.Fault == out.fault.name })
	if at < 0 {
		at = len(r.lines)
		r.lines = append(r.lines, &line{Fault: out.fault.name, words: out.fault.words, Violated: map[string]int{}})
	}
	l := r.lines[at]
	l.Histories++
	l.Jobs += out.jobs
	l.Strokes += out.strokes
	for _, v := range out.found {
		l.Violated[v.what.String()]++
	}
	l.took = append(l.took, out.took)
	slices.Sort(l.took)
	l.P50, l.Max = l.took[(len(l.took)-1)/2].Seconds(), l.took[len(l.took)-1].Seconds()
}

func (r *report) violations() (n int) {
	for _, l := range r.lines {
		n += l.violations()
	}
	return n
}

func (l *line) violations() (n int) {
	for _, k := range l.Violated {
		n += k
	}
	return n
}

// ordered gives the lines in the order of the faults.
func (r *report) ordered() []*line {
	place := map[string]int{}
	for n, f := range faults() {
		place[f.name] = n - len(faults()) // before several at once
	}
	list := slices.Clone(r.lines)
	slices.SortFunc(list, func(a, b *line) int { return place[a.Fault] - place[b.Fault] })
	return list
}

// last is the line that scripts read.
func (r *report) last() string {
	histories, jobs, strokes := 0, 0, 0
	for _, l := range r.lines {
		histories, jobs, strokes = histories+l.Histories, jobs+l.Jobs, strokes+l.Strokes
	}
	return fmt.Sprintf("jobs=%d faults=%d histories=%d violations=%d seed=%d", jobs, strokes, histories, r.violations(),
		r.seed)
}

// broken says which invariants a fault broke, and how often.
func (l *line) broken() string {
	var list []string
	for i := range invariants {
		if n := l.Violated[i.String()]; n > 0 {
			list = append(list, fmt.Sprintf("%s %d", i, n))
		}
	}
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

// print prints the table and the last line; -o json prints the lines alone.
func (r *report) print(a *cli.App) error {
	for _, s := range r.skipped {
		a.Note("%s", s)
	}
	if a.JSON() {
		return a.PrintJSON(map[string]any{"faults": r.ordered(), "seed": r.seed, "violations": r.violations(),
			"skipped": r.skipped})
	}
	t := cli.Table{Header: []string{"FAULT", "HISTORIES", "JOBS", "STROKES", "WORKS AGAIN", "AT MOST", "VIOLATIONS"}}
	for _, l := range r.ordered() {
		t.Add(l.Fault, l.Histories, l.Jobs, l.Strokes, fmt.Sprintf("%.2f s", l.P50),
			fmt.Sprintf("%.2f s", l.Max), l.broken())
	}
	if err := a.PrintTable(t); err != nil {
		return err
	}
	if r.violations() > 0 {
		a.Note("the files of the histories are in %s", r.dir)
	}
	return a.Printf("%s\n", r.last())
}

// markdown is the table as docs/reliability.md shows it: faults × invariants, histories tried and violations.
func (r *report) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| fault | histories | strokes | jobs | %s | works again, s (p50, max) |\n|---|---|---|---|%s---|\n",
		strings.Join(inWords[:], " | "), strings.Repeat("---|", int(invariants)))
	for _, l := range r.ordered() {
		fmt.Fprintf(&b, "| %s | %d | %d | %d |", l.words, l.Histories, l.Strokes, l.Jobs)
		for i := range invariants {
			fmt.Fprintf(&b, " %d |", l.Violated[i.String()])
		}
		fmt.Fprintf(&b, " %.1f, %.1f |\n", l.P50, l.Max)
	}
	return b.String()
}
