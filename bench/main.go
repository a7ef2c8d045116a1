// Command bench measures bellhop as a newcomer runs it (the serve binary, its
// guard, attempts, logs and retries on, an agent that is another program)
// beside yardsticks in the same run, in interleaved rounds, on one freshly made
// PostgreSQL with default durability. Only ratios within a run count: absolute
// figures move from machine to machine.
//
//	go run . -bellhop ../bin/bellhop [-rounds 3] [-full] [-only latency,drain,idle]
//
// It prints progress to stderr, JSON lines (one a measurement) to -json, and a
// table with medians, min–max and ratios to stdout.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bellhop/pgdev"
)

// figure is one measurement.
type figure struct {
	Round   int     `json:"round"`
	Measure string  `json:"measure"`
	Program string  `json:"program"`
	Value   float64 `json:"value"`
	Unit    string  `json:"unit"`
}

// contender is something that does the work: bellhop, or a yardstick.
type contender interface {
	name() string
	// start makes it ready to work in a fresh database; seen is the file in
	// which receipts are noted, empty for none.
	start(ctx context.Context, url, seen string) error
	stop()
	insertOne() string  // statement with $1 = the line
	insertMany() string // statement with $1 = how many
	left() string       // statement: how many are not done
	double() string     // statement: how many were done more than once, or not well
}

type bench struct {
	cluster *pgdev.Cluster
	tmp     string
	agent   string
	rounds  int
	full    bool
	figures []figure
	out     *json.Encoder
	dbs     int
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() error {
	binary := flag.String("bellhop", "../bin/bellhop", "the binary to measure")
	rounds := flag.Int("rounds", 3, "interleaved rounds")
	full := flag.Bool("full", false, "the long form")
	only := flag.String("only", "latency,drain,idle", "measures")
	jsonPath := flag.String("json", "", "file for JSON lines")
	flag.Parse()
	tmp, err := os.MkdirTemp("", "bellhop-bench")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	if err := os.Chmod(tmp, 0o755); err != nil {
		return err
	}
	b := &bench{tmp: tmp, agent: filepath.Join(tmp, "agent"), rounds: *rounds, full: *full}
	if *full && *rounds == 3 {
		b.rounds = 9
	}
	if out, err := exec.Command("go", "build", "-o", b.agent, "./agent").CombinedOutput(); err != nil {
		return fmt.Errorf("build the agent: %s", out)
	}
	sink := os.Stderr
	if *jsonPath != "" {
		if sink, err = os.Create(*jsonPath); err != nil {
			return err
		}
		defer func() { _ = sink.Close() }()
	}
	b.out = json.NewEncoder(sink)
	ctx := context.Background()
	if b.cluster, err = pgdev.Start(ctx, pgdev.Config{Durable: true}); err != nil {
		return err
	}
	defer func() { _ = b.cluster.Stop(ctx) }()
	path, err := filepath.Abs(*binary)
	if err != nil {
		return err
	}
	all := func() []contender {
		return []contender{&reference{b: b}, &bellhop{b: b, binary: path}, &river{best: true}, &river{}}
	}
	began := time.Now()
	for round := 1; round <= b.rounds; round++ {
		for _, measure := range strings.Split(*only, ",") {
			list := all()
			if round%2 == 0 { // nobody is always first
				slices.Reverse(list)
			}
			for _, c := range list {
				if err := b.measure(ctx, round, measure, c); err != nil {
					return fmt.Errorf("%s of %s: %w", measure, c.name(), err)
				}
			}
		}
		fmt.Fprintf(os.Stderr, "round %d of %d done after %s\n", round, b.rounds, time.Since(began).Round(time.Second))
	}
	b.report()
	return nil
}

func (b *bench) measure(ctx context.Context, round int, measure string, c contender) error {
	switch measure {
	case "latency":
		return b.latency(ctx, round, c)
	case "drain":
		return b.drain(ctx, round, c)
	case "idle":
		if _, ours := c.(*bellhop); ours {
			return b.idle(ctx, round, c)
		}
		return nil
	}
	return fmt.Errorf("unknown measure %q: latency, drain or idle", measure)
}

func (b *bench) note(round int, measure, program string, value float64, unit string) {
	f := figure{round, measure, program, value, unit}
	b.figures = append(b.figures, f)
	_ = b.out.Encode(f) // a report that cannot be written is missed at the end
}

// fresh makes a database of its own for one measurement.
func (b *bench) fresh(ctx context.Context) (string, error) {
	b.dbs++
	return b.cluster.NewDatabase(ctx, fmt.Sprintf("bench%d", b.dbs), "")
}

// report prints a row a measure and program: median, min–max, and the ratio to
// the reference and to River best, round by round.
func (b *bench) report() {
	type key struct{ measure, program string }
	by := map[key]map[int]float64{}
	var order []key
	unit := map[string]string{}
	for _, f := range b.figures {
		k := key{f.Measure, f.Program}
		if by[k] == nil {
			by[k] = map[int]float64{}
			order = append(order, k)
		}
		by[k][f.Round] = f.Value
		unit[f.Measure] = f.Unit
	}
	slices.SortStableFunc(order, func(a, b key) int { return strings.Compare(a.measure, b.measure) })
	fmt.Printf("\n| measure | program | median | min–max | / reference | / River best |\n|---|---|---|---|---|---|\n")
	for _, k := range order {
		var values []float64
		for _, v := range by[k] {
			values = append(values, v)
		}
		ratio := func(other string) string {
			var r []float64
			for round, v := range by[k] {
				if o := by[key{k.measure, other}][round]; o > 0 {
					r = append(r, v/o)
				}
			}
			if len(r) == 0 {
				return "–"
			}
			return fmt.Sprintf("%.2f (%.2f–%.2f)", median(r), slices.Min(r), slices.Max(r))
		}
		fmt.Printf("| %s | %s | %s %s | %s–%s | %s | %s |\n", k.measure, k.program, number(median(values)), unit[k.measure],
			number(slices.Min(values)), number(slices.Max(values)), ratio("reference"), ratio("River best"))
	}
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

func number(v float64) string {
	if v >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.2f", v)
}
