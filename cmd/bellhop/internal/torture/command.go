// Package torture is `bellhop torture`: all kinds of work under all kinds of faults, on a copy of a user's own server,
// held against the promises of docs/reliability.md.
package torture

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/pgdev"
)

// torture is one call of the command.
type torture struct {
	app     *cli.App
	program string
	dir     string
	seed    uint64
	minutes float64
	lag     time.Duration
	only    []string
	history int
	first   bool
	record  bool
	places  *servers
}

// Command is `bellhop torture`.
func Command(a *cli.App) *cobra.Command {
	t := &torture{app: a}
	var keep, markdown string
	var list bool
	c := &cobra.Command{
		Use:   "torture [DSN]",
		Short: "Put bellhop under faults, and check its promises",
		Long: `Put bellhop under faults, and check its promises. Each history starts two instances on a
fresh database, submits all kinds of work, does one kind of harm, and holds what happened
against ten invariants. Agents write down what they do in files beside the database.

DSN names a server, and a login that may create databases there. torture makes databases
named bellhop_torture_…, and drops them; it touches no other. Roles that its migration
makes stay. Faults that harm a server
(a killed postmaster, a promotion) need a server of torture's own. It starts one where
this machine has PostgreSQL, and otherwise leaves those faults out. Without DSN all
histories run there.

A violation is printed with its story, and the files of its history stay. The same seed
does the same harm, though not at the same moments. The last line is
jobs=N faults=N histories=N violations=N seed=S. Exit code: 0 without a violation, 1
with one, 130 after an interrupt. docs/reliability.md says what each invariant promises.`,
		Example: `  bellhop torture postgres://admin@db/postgres
  bellhop torture --minutes 0.5 --fault serve-killed,black-hole
  bellhop torture --minutes 0.5 --fault promotion-asynchronous+serve-killed`,
		Args: a.Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if list {
				return t.list()
			}
			return t.command(cmd.Context(), args, keep, markdown)
		},
	}
	c.Flags().Float64Var(&t.minutes, "minutes", 5, "how long new histories begin")
	c.Flags().Uint64Var(&t.seed, "seed", 0, "the `number` that decides about the harm; 0: another one each time")
	c.Flags().StringSliceVar(&t.only, "fault", nil, "only these `faults`; a+b does both at once")
	c.Flags().IntVar(&t.history, "history", 0, "only the history of this `number`")
	c.Flags().BoolVar(&t.first, "first", false, "end with the first history that shows a violation")
	c.Flags().DurationVar(&t.lag, "lag", 0, "instance.lag of its instances; their lease is four fifths of it; "+
		"0: 3s, on a slow machine more")
	c.Flags().StringVar(&keep, "keep", "", "keep all files in this `folder`")
	c.Flags().BoolVar(&t.record, "record", false, "record in the folder of --keep what was seen of each job, for the models")
	c.Flags().StringVar(&markdown, "markdown", "", "also write the table to a `file`")
	c.Flags().StringVar(&t.program, "program", "", "the bellhop `program` under test; empty: this one")
	c.Flags().BoolVar(&list, "list", false, "list the faults")
	return c
}

// list prints the faults.
func (t *torture) list() error {
	table := cli.Table{Header: []string{"FAULT", "STROKES", "WHAT IT DOES"}}
	for _, f := range faults() {
		table.Add(f.name, f.strokes, f.words)
	}
	return t.app.PrintTable(table)
}

// ready reads the command line.
func (t *torture) ready(keep, dsn string) (err error) {
	if t.minutes <= 0 || t.lag != 0 && t.lag < time.Second || t.history < 0 {
		return cli.Usage("torture", "--minutes is above 0, --lag 1s or more, --history 1 or more", "bellhop torture --minutes 5 --lag 3s")
	}
	if t.record && (keep == "" || dsn != "") {
		return cli.Usage("torture", "--record writes to the folder of --keep, and goes by the clock of torture's own server",
			"bellhop torture --record --keep FOLDER")
	}
	for _, name := range t.only {
		if _, known := faultNamed(name); !known {
			return cli.Usage("torture", fmt.Sprintf("there is no fault %q", name), "bellhop torture --list")
		}
	}
	if t.seed == 0 {
		t.seed = 1 + rand.Uint64N(1_000_000)
	}
	if t.program == "" {
		if t.program = cli.OwnProgram(); t.program == "" {
			return cli.Usage("torture", "the file of this program cannot be found", "bellhop torture --program ./bellhop")
		}
	}
	if keep == "" {
		t.dir, err = os.MkdirTemp("", "bellhop-torture-")
	} else if t.dir, err = filepath.Abs(keep); err == nil { // instances and agents run in folders of their own
		err = os.MkdirAll(t.dir, 0o755)
	}
	return errors.Join(err, os.Chmod(t.dir, 0o755))
}

func (t *torture) command(ctx context.Context, args []string, keep, markdown string) error {
	dsn := strings.Join(args, "")
	if err := t.ready(keep, dsn); err != nil {
		return err
	}
	ctx, release := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer release()
	t.places = newServers(dsn, t.program)
	r := &report{seed: t.seed, dir: t.dir}
	err := t.all(ctx, r)
	last, cancel := lastly(ctx)
	defer cancel()
	err = errors.Join(err, t.places.close(last))
	if keep == "" && r.violations() == 0 && (err == nil || len(r.lines) == 0) {
		err = errors.Join(err, os.RemoveAll(t.dir))
	}
	switch {
	case ctx.Err() != nil:
		t.app.Note("torture: interrupted; its databases are dropped")
	case err != nil:
		return err
	case markdown != "":
		if err := os.WriteFile(markdown, []byte(r.markdown()), 0o644); err != nil {
			return err
		}
	}
	if err := r.print(t.app); err != nil {
		return err
	}
	switch {
	case ctx.Err() != nil:
		return cli.Silent(cli.ExitInterrupted)
	case r.violations() > 0:
		return cli.Silent(cli.ExitUnwell)
	}
	return nil
}

// all plays histories until the time is over, each fault as often as the others.
func (t *torture) all(ctx context.Context, r *report) error {
	possible := t.possible(r)
	if len(possible) == 0 {
		return cli.Usage("torture", "none of these faults can be done here", "bellhop torture --list")
	}
	if dsn := t.places.dsn; dsn != "" { // it says in words why it cannot be reached
		conn, err := t.app.Dial(ctx, cli.Database{URL: dsn, From: "the argument DSN"}, nil)
		if err != nil {
			return err
		}
		_ = conn.Close(ctx) // the server notices either way
	}
	if err := t.places.open(ctx); err != nil {
		return err
	}
	end := time.Now().Add(time.Duration(t.minutes * float64(time.Minute)))
	for number := 1; ctx.Err() == nil; number++ {
		h := planned(t.seed, number, possible)
		if t.history > 0 && number < t.history {
			continue
		}
		if t.history == 0 && number > 1 && time.Now().After(end) || t.history > 0 && number > t.history {
			break
		}
		out, err := t.play(ctx, h)
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			return fmt.Errorf("history %d (%s), seed %d, files in %s: %w", number, h.fault.name, t.seed, t.dir, err)
		}
		r.add(out)
		t.progress(out)
		switch {
		case len(out.found) > 0 && t.first:
			return nil
		case len(out.found) > 0:
			t.shrink(ctx, out)
		}
	}
	return nil
}

// planned gives the fault of a history: each round has all of them, in an order by the seed.
func planned(seed uint64, number int, possible []fault) history {
	round, at := (number-1)/len(possible), (number-1)%len(possible)
	order := luckOf(seed, -1-round).Perm(len(possible))
	f := possible[order[at]]
	return history{number: number, fault: f, strokes: f.strokes}
}

// possible gives the faults that are asked for and can be done here; the report names the others.
func (t *torture) possible(r *report) (list []fault) {
	_, missing := pgdev.Find()
	asked := faults()
	for n, name := range t.only {
		if n == 0 {
			asked = nil
		}
		f, _ := faultNamed(name)
		asked = append(asked, f)
	}
	for _, f := range asked {
		switch {
		case missing != nil && (f.own || t.places.dsn == ""):
			r.skip(f, "this machine has no PostgreSQL to start")
		default:
			list = append(list, f)
		}
	}
	return list
}

// progress says on stderr what a history showed.
func (t *torture) progress(out outcome) {
	t.app.Note("history %d: %s, %d strokes, %d jobs, works again after %s, %d violations", out.number, out.fault.name,
		out.strokes, out.jobs, out.took.Round(time.Millisecond), len(out.found))
	if out.unrecorded != "" {
		t.app.Note("  not recorded: %s", out.unrecorded)
	}
	for _, v := range out.found {
		t.app.Note("  %s: %s", v.what, v.says)
	}
	if len(out.found) > 0 {
		for _, line := range out.story {
			t.app.Note("    %s", line)
		}
		t.app.Note("  again: bellhop torture --seed %d --history %d --lag %s --keep %s", t.seed, out.number, out.lag, t.dir)
	}
}

// shrink looks for the fewest strokes that show a violation again.
func (t *torture) shrink(ctx context.Context, out outcome) {
	for strokes := 1; strokes <= out.strokes && strokes <= 3 && ctx.Err() == nil; strokes++ {
		h := out.history
		h.strokes, h.again = strokes, strokes
		again, err := t.play(ctx, h)
		if err == nil && len(again.found) > 0 {
			t.app.Note("  %d strokes show it: %s: %s", strokes, again.found[0].what, again.found[0].says)
			return
		}
	}
	t.app.Note("  up to 3 strokes alone did not show it again")
}
