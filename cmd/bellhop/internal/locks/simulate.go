package locks

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/scheduler/lock"
)

// The slots of a host that says nothing, and those of Ganeti's queue.
const (
	fileSlots   = 4
	ganetiSlots = 20
)

// The values of --shares, and what an order is called without them.
const (
	with     = "with"
	without  = "without"
	noShares = ", no shares"
)

// simulation is the flags of the command.
type simulation struct {
	room     lock.Room
	orders   []string
	shares   []string
	workload string
	history  bool
	since    string
	by       string
	policy   string
	most     map[string]int
	jobs     int
	seed     uint64
	print    bool
	other    *lock.Policy  // of the file policy
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
A job may also have "asks": locks that it asks for, and waits for, while it has a slot;
and "share", its key, with the key's "weight".

--from-history takes the jobs of the database that were submitted in the last week (--since)
and have ended, with their attempts, dependencies and locks, and replays them under the
policy and in the slots of the live instances, or under others: --slots, --order, --max,
--policy FILE (policy and agents[].max of another bellhop.yaml). It prints the real run
first, and for each type (--by) how long jobs waited, how many slots they kept busy, and
how many began at least 1 s earlier or later than they really did.

--shares with,without replays each order twice: keys of shares take turns, or jobs start
by their ids whatever their keys.

Orders: predictive (priority, weight, id), fifo (priority, id), greedy (fifo without
reservations), blind (fifo of a queue without locks: jobs wait for their locks in their
slots), ganeti (blind, but by weight; slow with many waiting jobs). Ageing and levels
are those of policy in the configuration (-c).`,
		Example: `  bellhop simulate --workload ganeti --jobs 10000
  bellhop simulate jobs.jsonl --slots 8 --order predictive,fifo -o json
  bellhop simulate --from-history
  bellhop simulate --from-history --since 36h --slots 16 --order fifo --by vars.CUSTOMER
  bellhop simulate --from-history --shares with,without --by share
  bellhop simulate --workload ganeti --jobs 100 --print > jobs.jsonl`,
		Args: a.Args(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error { return o.do(a, c, args) },
	}
	f := c.Flags()
	f.IntVar(&o.room.Slots, "slots", 0, "number of slots (default: 4; 20 for --workload; those of the hosts for --from-history)")
	f.StringSliceVar(&o.orders, "order", nil, "the `orders` (default: predictive,fifo,greedy,blind; for --from-history the present one)")
	f.StringSliceVar(&o.shares, "shares", []string{with}, "whether keys of shares take turns: with, without, or both")
	f.StringVar(&o.workload, "workload", "", "make the jobs: ganeti")
	f.BoolVar(&o.history, "from-history", false, "replay the jobs of the database that have ended")
	f.StringVar(&o.since, "since", "7d", "of the history: jobs submitted within this `time`, such as 36h")
	f.StringVar(&o.by, "by", "type", "of the history: whose figures are told apart: type, share, or vars.`NAME`")
	f.StringVar(&o.policy, "policy", "", "of the history: the `FILE` of another policy, such as a bellhop.yaml")
	f.StringToIntVar(&o.most, "max", nil, "of the history: at most N jobs of a type at once, as `TYPE=N`")
	f.IntVar(&o.jobs, "jobs", 0, "number of jobs to make (default 10000); of the history: at most so many, the newest (default 1000000)")
	f.Uint64Var(&o.seed, "seed", 1, "the same seed makes the same jobs")
	f.BoolVar(&o.print, "print", false, "print the jobs, and simulate nothing")
	return c
}

// do simulates what the flags name.
func (o *simulation) do(a *cli.App, c *cobra.Command, args []string) error {
	if c.Flags().Changed("slots") && o.room.Slots == 0 {
		o.room.Slots = -1 // 0 stands for what is usual
	}
	if err := o.check(a, c, args); err != nil {
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
}

func (o *simulation) run(a *cli.App, jobs []lock.Arrival, policy lock.Policy) error {
	if o.print {
		return writeWorkload(a.Stdout, jobs, o.room.Shares.Weights)
	}
	var outcomes []lock.Outcome
	if o.was != nil {
		outcomes = append(outcomes, *o.was)
	}
	for _, name := range o.orders {
		policy.Order = lock.Order(name)
		for _, shares := range o.shares {
			room := o.room
			room.Shares.None = shares == without
			out := lock.Simulate(jobs, room, policy)
			if room.Shares.None {
				out.Order += noShares
			}
			outcomes = append(outcomes, out)
		}
	}
	if a.JSON() {
		return a.PrintJSON(o.views(jobs, outcomes))
	}
	if err := a.PrintTable(outcomeTable(outcomes, o.room.Slots)); err != nil {
		return err
	}
	if o.was != nil {
		if err := a.Printf("\n"); err != nil {
			return err
		}
		if err := a.PrintTable(o.partTable(jobs, outcomes)); err != nil {
			return err
		}
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
		if o.room.Slots == 0 {
			o.room.Slots = ganetiSlots
		}
		policy.Levels = lock.GanetiLevels
		return lock.GanetiWorkload(o.jobs, o.seed), policy, nil
	}
	if o.room.Slots == 0 {
		o.room.Slots = fileSlots
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
	jobs, levels, of, err := readWorkload(in, policy.Levels)
	if err != nil {
		return nil, policy, cli.Usage("simulate", args[0]+": "+err.Error(), `a line is {"at":0,"type":"mail","locks":["customer:42=exclusive"],"priority":0,"takes":1.5}`)
	}
	policy.Levels, o.room.Shares.Weights = levels, of
	return jobs, policy, nil
}

// check looks at the flags, and fills in what is usual.
func (o *simulation) check(a *cli.App, c *cobra.Command, args []string) error {
	for _, name := range o.orders {
		if !slices.Contains(lock.Orders, lock.Order(name)) {
			return cli.Usage("simulate", fmt.Sprintf("there is no order %q", name), "--order predictive, fifo, greedy, blind or ganeti")
		}
	}
	for _, name := range o.shares {
		if name != with && name != without {
			return cli.Usage("simulate", fmt.Sprintf("--shares %s is neither with nor without", name), "--shares with,without")
		}
	}
	switch {
	case len(o.shares) == 0:
		return cli.Usage("simulate", "--shares needs a value", "--shares with,without")
	case o.room.Slots < 0:
		return cli.Usage("simulate", "without slots nothing runs", "--slots 4")
	case o.sources(args) != 1:
		return cli.Usage("simulate", "which jobs? Name a file, a workload to make, or --from-history",
			"bellhop simulate --workload ganeti")
	case o.workload != "" && o.workload != "ganeti":
		return cli.Usage("simulate", fmt.Sprintf("there is no workload %q", o.workload), "--workload ganeti")
	case (o.workload != "" || o.history) && c.Flags().Changed("jobs") && (o.jobs < 1 || o.jobs > 10_000_000):
		return cli.Usage("simulate", fmt.Sprintf("%d is not a valid number of jobs", o.jobs), "--jobs 10000")
	}
	if o.history {
		o.jobs = cmp.Or(o.jobs, 1_000_000)
		return o.checkHistory(a)
	}
	for _, name := range []string{"by", "policy", "max", "since"} {
		if c.Flags().Changed(name) {
			return cli.Usage("simulate", "--"+name+" is for --from-history", "bellhop simulate --from-history --"+name+" …")
		}
	}
	o.jobs = cmp.Or(o.jobs, 10_000)
	if len(o.orders) == 0 {
		o.orders = []string{"predictive", "fifo", "greedy", "blind"}
	}
	return nil
}

// checkHistory looks at the flags of a history.
func (o *simulation) checkHistory(a *cli.App) error {
	name, of := strings.CutPrefix(o.by, "vars.")
	if o.by != "type" && o.by != "share" && (!of || name == "") {
		return cli.Usage("simulate", fmt.Sprintf("there are no figures by %q", o.by), "--by type, share or vars.NAME")
	}
	for typ, n := range o.most {
		if typ == "" || n < 1 {
			return cli.Usage("simulate", fmt.Sprintf("--max %s=%d: at least one job of a type has to run", typ, n), "--max mail=4")
		}
	}
	if o.policy == "" {
		return nil
	}
	other := *a
	other.ConfigPath = o.policy
	c, err := other.LoadConfig()
	if err != nil {
		return err
	}
	o.other = &c.Policy
	most := map[string]int{}
	for _, agent := range c.Agents {
		most[string(agent.Type)] = agent.Max // 0: no limit
	}
	maps.Copy(most, o.most)
	o.most = most
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
