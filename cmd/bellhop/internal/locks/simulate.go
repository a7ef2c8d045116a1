package locks

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/scheduler/lock"
)

// The slots of a host that says nothing, and those of Ganeti's queue.
const (
	fileSlots   = 4
	ganetiSlots = 20
)

// simulation is the flags of the command.
type simulation struct {
	slots    int
	orders   []string
	workload string
	history  bool
	since    string
	jobs     int
	seed     uint64
	print    bool
	was      *lock.Outcome // of history: what really became of it
}

func SimulateCommand(a *cli.App) *cobra.Command {
	var o simulation
	c := &cobra.Command{
		Use:   "simulate {FILE | --from-history | --workload ganeti}",
		Short: "Replay jobs with locks in virtual time, and compare orders",
		Long: `Replay a workload in virtual time, through the policy of the scheduler and through
others, and print how long jobs waited in each.

FILE (- for stdin) has one JSON object a line:
  {"at": seconds, "type": T, "locks": [text…], "priority": N, "takes": seconds}
A job may also have "asks": locks that it asks for, and waits for, while it has a slot.

--from-history takes the finished jobs of the database: the earliest start of each, its
locks and those of its agent, and the duration of its last attempt.

Orders: predictive (priority, weight, id), fifo (priority, id), greedy (fifo without
reservations), blind (fifo of a queue without locks: jobs wait for their locks in their
slots), ganeti (blind, but by weight; slow with many waiting jobs). Ageing and levels
are those of policy in the configuration (-c).`,
		Example: `  bellhop simulate --workload ganeti --jobs 10000
  bellhop simulate jobs.jsonl --slots 8 --order predictive,fifo -o json
  bellhop simulate --from-history --since 7d --slots 16
  bellhop simulate --workload ganeti --jobs 100 --print > jobs.jsonl`,
		Args: a.Args(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("slots") && o.slots == 0 {
				o.slots = -1 // 0 stands for what is usual
			}
			if err := o.check(args); err != nil {
				return err
			}
			if !o.history {
				jobs, policy, err := o.read(a, args)
				if err != nil {
					return err
				}
				return o.run(a, jobs, policy)
			}
			return a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, _ []string) error {
				jobs, policy, err := o.past(ctx, a, s)
				if err != nil {
					return err
				}
				return o.run(a, jobs, policy)
			})(c, args)
		},
	}
	f := c.Flags()
	f.IntVar(&o.slots, "slots", 0, "number of slots (default: 4; 20 for --workload; those of the hosts for --from-history)")
	f.StringSliceVar(&o.orders, "order", []string{"predictive", "fifo", "greedy", "blind"}, "the `orders`")
	f.StringVar(&o.workload, "workload", "", "make the jobs: ganeti")
	f.BoolVar(&o.history, "from-history", false, "replay the jobs of the database that have ended")
	f.StringVar(&o.since, "since", "7d", "of the history: jobs submitted within this `time`, such as 36h")
	f.IntVar(&o.jobs, "jobs", 10_000, "number of jobs to make; of the history: at most so many, the newest")
	f.Uint64Var(&o.seed, "seed", 1, "the same seed makes the same jobs")
	f.BoolVar(&o.print, "print", false, "print the jobs, and simulate nothing")
	return c
}

func (o *simulation) run(a *cli.App, jobs []lock.Arrival, policy lock.Policy) error {
	if o.print {
		return writeWorkload(a.Stdout, jobs)
	}
	var outcomes []lock.Outcome
	for _, name := range o.orders {
		policy.Order = lock.Order(name)
		outcomes = append(outcomes, lock.Simulate(jobs, o.slots, policy))
	}
	if a.JSON() {
		views := map[lock.Order]outcomeView{}
		for _, out := range outcomes {
			views[out.Order] = viewOf(out)
		}
		return a.PrintJSON(views)
	}
	if o.was != nil {
		outcomes = append([]lock.Outcome{*o.was}, outcomes...)
	}
	if err := a.PrintTable(outcomeTable(outcomes)); err != nil {
		return err
	}
	return a.Printf("\n%s", plot(jobs, outcomes))
}

// read gives the jobs, and the policy with the levels of their locks.
func (o *simulation) read(a *cli.App, args []string) ([]lock.Arrival, lock.Policy, error) {
	c, err := a.LoadConfig()
	if err != nil {
		return nil, lock.Policy{}, err
	}
	policy := c.Policy
	if o.workload != "" {
		if o.slots == 0 {
			o.slots = ganetiSlots
		}
		policy.Levels = lock.GanetiLevels
		return lock.GanetiWorkload(o.jobs, o.seed), policy, nil
	}
	if o.slots == 0 {
		o.slots = fileSlots
	}
	in := a.Stdin
	if args[0] != "-" {
		f, err := os.Open(args[0])
		if err != nil {
			return nil, policy, cli.Usage("simulate", err.Error(), "bellhop simulate --workload ganeti --jobs 100 --print   writes such a file")
		}
		defer f.Close()
		in = io.Reader(f)
	}
	jobs, levels, err := readWorkload(in, policy.Levels)
	if err != nil {
		return nil, policy, cli.Usage("simulate", args[0]+": "+err.Error(), `a line is {"at":0,"type":"mail","locks":["customer:42=exclusive"],"priority":0,"takes":1.5}`)
	}
	policy.Levels = levels
	return jobs, policy, nil
}

// check looks at the flags.
func (o *simulation) check(args []string) error {
	for _, name := range o.orders {
		if !slices.Contains(lock.Orders, lock.Order(name)) {
			return cli.Usage("simulate", fmt.Sprintf("there is no order %q", name), "--order predictive, fifo, greedy, blind or ganeti")
		}
	}
	switch {
	case o.slots < 0:
		return cli.Usage("simulate", "without slots nothing runs", "--slots 4")
	case o.sources(args) != 1:
		return cli.Usage("simulate", "which jobs? Name a file, a workload to make, or --from-history",
			"bellhop simulate --workload ganeti")
	case o.workload != "" && o.workload != "ganeti":
		return cli.Usage("simulate", fmt.Sprintf("there is no workload %q", o.workload), "--workload ganeti")
	case (o.workload != "" || o.history) && (o.jobs < 1 || o.jobs > 10_000_000):
		return cli.Usage("simulate", fmt.Sprintf("%d is not a valid number of jobs", o.jobs), "--jobs 10000")
	}
	return nil
}

// sources counts where jobs are to come from.
func (o *simulation) sources(args []string) int {
	n := len(args)
	for _, named := range []bool{o.workload != "", o.history} {
		if named {
			n++
		}
	}
	return n
}

// outcomeView is an outcome in seconds.
type outcomeView struct {
	Makespan    float64   `json:"makespan"`
	WaitMean    float64   `json:"wait_mean"`
	WaitP50     float64   `json:"wait_p50"`
	WaitP99     float64   `json:"wait_p99"`
	WaitMax     float64   `json:"wait_max"`
	Utilisation float64   `json:"utilisation"`
	Contention  float64   `json:"contention"`
	Broken      int       `json:"broken"`
	Starts      []float64 `json:"starts"`
}

func viewOf(out lock.Outcome) outcomeView {
	v := outcomeView{
		Makespan:    out.Makespan.Seconds(),
		WaitMean:    out.WaitMean.Seconds(),
		WaitP50:     out.WaitP50.Seconds(),
		WaitP99:     out.WaitP99.Seconds(),
		WaitMax:     out.WaitMax.Seconds(),
		Utilisation: out.Utilisation,
		Contention:  out.Contention,
		Broken:      out.Broken,
		Starts:      make([]float64, len(out.Starts)),
	}
	for i, s := range out.Starts {
		v.Starts[i] = s.Seconds()
	}
	return v
}

func outcomeTable(outcomes []lock.Outcome) cli.Table {
	t := cli.Table{Header: []string{"ORDER", "MAKESPAN", "WAIT_P50", "WAIT_P99", "WAIT_MAX", "WAIT_MEAN", "UTILISATION", "CONTENTION", "BROKEN"}}
	percent := func(x float64) string { return strconv.FormatFloat(100*x, 'f', 1, 64) + " %" }
	span := func(d time.Duration) string { s := d.Seconds(); return cli.Span(&s) }
	for _, o := range outcomes {
		t.Add(o.Order, span(o.Makespan), span(o.WaitP50), span(o.WaitP99), span(o.WaitMax), span(o.WaitMean),
			percent(o.Utilisation), percent(o.Contention), o.Broken)
	}
	return t
}

// steps are how long jobs wait, as the plot tells them apart.
var steps = []struct {
	most time.Duration
	name string
}{
	{0, "at once"}, {10 * time.Second, "≤ 10 s"}, {time.Minute, "≤ 1 min"}, {10 * time.Minute, "≤ 10 min"}, {time.Hour, "≤ 1 h"}, {1<<63 - 1, "longer"},
}

// plot shows, for each order, which part of the jobs waited how long.
func plot(jobs []lock.Arrival, outcomes []lock.Outcome) string {
	const width = 16
	var out strings.Builder
	fmt.Fprintf(&out, "%-9s", "waited")
	for _, o := range outcomes {
		fmt.Fprintf(&out, " %-*s", width+8, o.Order)
	}
	for i, s := range steps {
		fmt.Fprintf(&out, "\n%-9s", s.name)
		for _, o := range outcomes {
			n := 0
			for k, j := range jobs {
				if w := o.Starts[k] - j.At; w <= s.most && (i == 0 || w > steps[i-1].most) {
					n++
				}
			}
			share := float64(n) / float64(len(jobs))
			bar := strings.Repeat("█", int(share*width+0.5))
			fmt.Fprintf(&out, " %6.2f%% %s%s", 100*share, bar, strings.Repeat(" ", width-len([]rune(bar))))
		}
	}
	var lines []string
	for line := range strings.Lines(out.String()) {
		lines = append(lines, strings.TrimRight(line, " \n"))
	}
	return strings.Join(lines, "\n") + "\n"
}
