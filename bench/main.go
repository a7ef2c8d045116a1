// Command bench measures bellhop as a newcomer runs it (the serve binary with
// its default configuration: guard, attempts, logs and retries on, agents that
// are other programs) beside yardsticks in the same run, in interleaved rounds,
// on one freshly made PostgreSQL with default durability. Only ratios within a
// run count: absolute figures move from machine to machine.
//
//	make bench                                            # the short form
//	FULL=1 make bench                                     # the long one, with what takes a million rows
//	cd bench && go run . -only drain,latency -rounds 5    # some measures
//
// Progress goes to stderr, JSON lines (one a figure) to -json, and the report,
// in Markdown, to stdout.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/pgdev"
)

func main() {
	var err error
	if len(os.Args) == 3 && os.Args[1] == yardstickArg {
		err = beYardstick(os.Args[2])
	} else {
		err = run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() error {
	binary := flag.String("bellhop", "../bin/bellhop", "the `binary` to measure")
	before := flag.String("before", "", "an older `binary`, which the measure called server compares with")
	rounds := flag.Int("rounds", 0, "interleaved rounds of every measure; 0: as many as the form has")
	span := flag.Duration("span", 30*time.Second, "for how long each phase of the measure called long lasts")
	phase := flag.String("phase", "", "one `phase` of the measure called long, such as \"a held snapshot\"; empty: all")
	rate := flag.Int("rate", 500, "how many jobs a second come in the measure called long")
	millions := flag.Int("millions", 10, "how many `million` finished rows the measure called millions has; half as many wait")
	full := flag.Bool("full", false, "the long form: longer, more rounds, and what takes a million rows")
	only := flag.String("only", "", "measures, with commas between; empty: all of the form")
	jsonPath := flag.String("json", "", "`file` for JSON lines, one a figure")
	list := flag.Bool("list", false, "list the measures, and stop")
	flag.Parse()
	if *list {
		for _, m := range measures {
			fmt.Printf("%-10s %s\n", m.name, m.about)
		}
		return nil
	}
	chosen, err := choose(*only, *full)
	if err != nil {
		return err
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer cancel()
	b, err := newBench(ctx, *binary, *full)
	if err != nil {
		return err
	}
	defer b.end()
	b.span, b.phaseOnly, b.rate, b.millions = *span, *phase, *rate, *millions
	if *before != "" {
		if b.before, err = filepath.Abs(*before); err != nil {
			return err
		}
	}
	if err := b.breakIn(ctx); err != nil {
		return err
	}
	if *jsonPath != "" {
		sink, err := os.Create(*jsonPath)
		if err != nil {
			return err
		}
		defer func() { _ = sink.Close() }()
		b.out = json.NewEncoder(sink)
	}
	// What was measured before something went wrong is reported too.
	err = b.measure(ctx, chosen, *rounds)
	return errors.Join(err, b.report(os.Stdout))
}

func (b *bench) measure(ctx context.Context, chosen []measure, rounds int) error {
	for _, m := range chosen {
		n := cmp.Or(rounds, m.rounds(b.full))
		for round := 1; round <= n; round++ {
			b.say("%s, round %d of %d", m.name, round, n)
			if err := m.run(ctx, b, round); err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
		}
	}
	b.say("done")
	return nil
}

// choose gives the measures that were asked for, in the order of the table.
func choose(only string, full bool) ([]measure, error) {
	var chosen []measure
	wanted := strings.FieldsFunc(only, func(r rune) bool { return r == ',' || r == ' ' })
	for _, m := range measures {
		if len(wanted) == 0 && (full || m.short > 0) || slices.Contains(wanted, m.name) {
			chosen = append(chosen, m)
		}
		wanted = slices.DeleteFunc(wanted, func(w string) bool { return w == m.name })
		if len(chosen) > 0 && only != "" && len(wanted) == 0 {
			break
		}
	}
	if len(wanted) > 0 {
		return nil, fmt.Errorf("no measure is called %q: see -list", wanted[0])
	}
	return chosen, nil
}

// bench is one run: a server, what was measured, and where it goes.
type bench struct {
	binary string // bellhop
	before string // an older one, or empty
	agent  string // what does the work
	tmp    string
	full   bool
	// The measure called long: how long each phase lasts, which one alone, and how many jobs come a second.
	span      time.Duration
	phaseOnly string
	rate      int
	millions  int // finished rows of the measure called millions
	began     time.Time
	cluster   *pgdev.Cluster
	dbs       int
	figures   []figure
	out       *json.Encoder
	// templates are databases with many rows, by what is in them.
	templates map[string]string
}

func newBench(ctx context.Context, binary string, full bool) (b *bench, err error) {
	b = &bench{full: full, began: time.Now(), templates: map[string]string{}}
	if b.binary, err = filepath.Abs(binary); err != nil {
		return nil, err
	}
	if _, err := os.Stat(b.binary); err != nil {
		return nil, fmt.Errorf("no bellhop to measure (make build): %w", err)
	}
	if b.tmp, err = os.MkdirTemp("", "bellhop-bench"); err != nil {
		return nil, err
	}
	// Agents may run under another account.
	if err := os.Chmod(b.tmp, 0o755); err != nil {
		return nil, err
	}
	b.agent = filepath.Join(b.tmp, "agent")
	b.say("building the agent, starting PostgreSQL")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", b.agent, "./agent").CombinedOutput(); err != nil {
		_ = os.RemoveAll(b.tmp)
		return nil, fmt.Errorf("build the agent: %s", out)
	}
	if b.cluster, err = pgdev.Start(ctx, pgdev.Config{Durable: true}); err != nil {
		_ = os.RemoveAll(b.tmp)
		return nil, err
	}
	return b, nil
}

// breakIn lets the new server write for the first time, so that the first
// measure does not pay for the files of its log.
func (b *bench) breakIn(ctx context.Context) error {
	return b.bare(ctx, func(_ *database, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "create table broken_in as select g, repeat('x', 100) from generate_series(1, 300000) g")
		return err
	})
}

func (b *bench) end() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := b.cluster.Stop(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
	_ = os.RemoveAll(b.tmp)
}

// say reports progress.
func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%5s  %s\n", time.Since(b.began).Round(time.Second), fmt.Sprintf(format, args...))
}

// figure is one measured value.
type figure struct {
	Round   int     `json:"round"`
	Measure string  `json:"measure"`
	Program string  `json:"program"`
	Value   float64 `json:"value"`
	Unit    string  `json:"unit"`
}

func (b *bench) note(round int, measure, program string, value float64, unit string) {
	f := figure{round, measure, program, value, unit}
	b.figures = append(b.figures, f)
	b.say("    %s · %s: %s %s", measure, program, number(value), unit)
	if b.out != nil {
		if err := b.out.Encode(f); err != nil {
			b.say("the figure cannot be written: %s", err)
			b.out = nil
		}
	}
}

// length chooses by the form.
func (b *bench) length(short, long int) int {
	if b.full {
		return long
	}
	return short
}
