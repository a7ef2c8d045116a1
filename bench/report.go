package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"
)

// results are the figures by measure and program, round by round, in the order
// in which they came.
type results struct {
	measures []string
	programs map[string][]string                   // of a measure
	values   map[string]map[string]map[int]float64 // measure, program, round
	units    map[string]string                     // of a measure
}

func collect(figures []figure) results {
	r := results{
		programs: map[string][]string{},
		values:   map[string]map[string]map[int]float64{},
		units:    map[string]string{},
	}
	for _, f := range figures {
		if r.values[f.Measure] == nil {
			r.measures = append(r.measures, f.Measure)
			r.values[f.Measure] = map[string]map[int]float64{}
		}
		if r.values[f.Measure][f.Program] == nil {
			r.programs[f.Measure] = append(r.programs[f.Measure], f.Program)
			r.values[f.Measure][f.Program] = map[int]float64{}
		}
		r.values[f.Measure][f.Program][f.Round] = f.Value
		r.units[f.Measure] = f.Unit
	}
	return r
}

func (r results) all(measure, program string) []float64 {
	var list []float64
	for _, v := range r.values[measure][program] {
		list = append(list, v)
	}
	return list
}

// report writes the goals with what was measured, then every figure.
func (b *bench) report(w io.Writer) error {
	head, err := b.head()
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, head+goalTable(collect(b.figures))+figureTable(collect(b.figures)))
	return err
}

// goalTable has a line a goal whose measure was taken.
func goalTable(r results) string {
	var t strings.Builder
	t.WriteString("| measure | bellhop | against | ratio, round by round | goal | |\n|---|---|---|---|---|---|\n")
	for _, g := range goals {
		ours := r.values[g.measure]["bellhop"]
		if len(ours) == 0 {
			continue
		}
		value, against := r.all(g.measure, "bellhop"), "–"
		if g.base != "" {
			value = ratios(ours, r.values[g.measure][g.base])
			if len(value) == 0 {
				continue
			}
			against = fmt.Sprintf("%s %s", g.base, with(number(median(r.all(g.measure, g.base))), r.units[g.measure]))
		}
		wanted := "≤ " + number(g.atMost)
		if g.atLeast > 0 {
			wanted = "≥ " + number(g.atLeast)
		}
		verdict := "met"
		if !g.met(median(value)) {
			verdict = "**not met**"
		}
		fmt.Fprintf(&t, "| %s | %s | %s | %s | %s | %s |\n", g.measure,
			with(number(median(r.all(g.measure, "bellhop"))), r.units[g.measure]), against, spreadOf(value), wanted, verdict)
	}
	return t.String() + "\n"
}

// figureTable has every figure: the median and the range over the rounds, and
// bellhop's divided by it, round by round.
func figureTable(r results) string {
	var t strings.Builder
	t.WriteString("| measure | program | median (min–max) | bellhop ÷ it |\n|---|---|---|---|\n")
	for _, m := range r.measures {
		for _, p := range r.programs[m] {
			share := "–"
			if list := ratios(r.values[m]["bellhop"], r.values[m][p]); p != "bellhop" && len(list) > 0 {
				share = spreadOf(list).String()
			}
			fmt.Fprintf(&t, "| %s | %s | %s | %s |\n", m, p, with(spreadOf(r.all(m, p)).String(), r.units[m]), share)
		}
	}
	return t.String()
}

func with(value, unit string) string { return strings.TrimSpace(value + " " + unit) }

// head says where, when and how this was measured.
func (b *bench) head() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var postgres string
	if err := b.ask(ctx, "select current_setting('server_version') || ', fsync ' || current_setting('fsync') || ', synchronous_commit ' || current_setting('synchronous_commit')", &postgres); err != nil {
		return "", err
	}
	version, err := exec.CommandContext(ctx, b.binary, "version").Output()
	if err != nil {
		return "", fmt.Errorf("ask %s for its version: %w", b.binary, err)
	}
	command := "make bench"
	if b.full {
		command = "FULL=1 make bench"
	}
	if slices.ContainsFunc(os.Args[1:], func(a string) bool {
		return strings.HasPrefix(strings.TrimLeft(a, "-"), "only") || strings.HasPrefix(strings.TrimLeft(a, "-"), "rounds")
	}) {
		command = "cd bench && go run . " + strings.Join(os.Args[1:], " ")
	}
	ours, _, _ := strings.Cut(strings.TrimSpace(string(version)), "\n")
	return fmt.Sprintf(
		"Measured %s by `%s` in %s, on %d × %s, server and clients on the same processors. PostgreSQL %s. %s, River %s, %s.\n"+
			"Medians over the rounds, with the smallest and the largest; a ratio is taken within each round.\n\n",
		time.Now().UTC().Format("2006-01-02 15:04 UTC"),
		command,
		time.Since(b.began).Round(time.Second),
		runtime.NumCPU(),
		machine(),
		postgres,
		ours,
		riverVersion,
		runtime.Version(),
	), nil
}
