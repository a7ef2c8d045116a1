// Package measure has the command that measures a database, and the way to it, by jobs.
package measure

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/sql"
	"bellhop/sql/dial"
)

var (
	heldSQL   = sql.Query("bench_held")
	oneSQL    = sql.Query("bench_one")
	drainSQL  = sql.Query("bench_drain")
	forgetSQL = sql.Query("bench_forget")
)

// figures is what was measured. Times are in milliseconds.
type figures struct {
	Rounds    int     `json:"rounds"`
	CommitP50 float64 `json:"commit_p50"` // of one INSERT, from here
	CommitP99 float64 `json:"commit_p99"`
	PickUpP50 float64 `json:"pick_up_p50"` // INSERT issued → its handler begins
	PickUpP99 float64 `json:"pick_up_p99"`
	Jobs      int     `json:"jobs"`
	PerSecond float64 `json:"per_second"` // jobs that do nothing, from the commit of their INSERT until the last has begun
}

// BenchCommand measures what the queue takes on this database, from this machine.
func BenchCommand(a *cli.App) *cobra.Command {
	var rounds, jobs, slots int
	c := &cobra.Command{
		Use:   "bench",
		Short: "Measure the queue on this database, from this machine",
		Long: `Measure the queue on this database, from this machine: the time of one INSERT to its
commit, the time from there until the job begins, and the number of empty jobs a second.
The jobs have their own type. Handlers in this process do them, as an instance beside the
others. At the end the jobs are deleted; their counts stay in bellhop history. Other work
of the database affects the figures, and these jobs load the database, but block no other
jobs.

It needs the rights of an instance. docs/performance.md compares bellhop with others, and
with agents behind pipes; make bench, in a checkout, measures that.`,
		Example: "  bellhop bench\n  bellhop bench --rounds 1000 --jobs 50000 -o json",
		Args:    a.NoArgs(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if rounds < 1 || jobs < 1 || slots < 1 {
				return cli.Usage("bench", "--rounds, --jobs and --slots are 1 or more", "bellhop bench --rounds 200 --jobs 10000")
			}
			return a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, _ []string) error {
				config, err := dial.Way{URL: s.Conn.Config().ConnString()}.Pool()
				if err != nil {
					return fmt.Errorf("connect: %w", err)
				}
				pool, err := pgxpool.NewWithConfig(ctx, config)
				if err != nil {
					return fmt.Errorf("connect: %w", err)
				}
				defer pool.Close()
				b := &bench{pool: pool, typ: "bench-" + rand.Text(), slots: slots, log: slog.New(slog.DiscardHandler)}
				f, err := b.measure(ctx, rounds, jobs)
				if err != nil {
					return err
				}
				if a.JSON() {
					return a.PrintJSON(f)
				}
				t := cli.Table{Header: []string{"WHAT", "P50", "P99"}}
				t.Add("one INSERT, committed", millis(f.CommitP50), millis(f.CommitP99))
				t.Add("INSERT issued, job begins", millis(f.PickUpP50), millis(f.PickUpP99))
				if err := a.PrintTable(t); err != nil {
					return err
				}
				return a.Printf("%d empty jobs: %.0f a second\n", f.Jobs, f.PerSecond)
			})(cmd, args)
		},
	}
	c.Flags().IntVar(&rounds, "rounds", 200, "`number` of single jobs to insert")
	c.Flags().IntVar(&jobs, "jobs", 10_000, "`number` of jobs in the drain")
	c.Flags().IntVar(&slots, "slots", 100, "number of handlers")
	return c
}

func millis(ms float64) string { return fmt.Sprintf("%.2f ms", ms) }

// quantiles gives p50 and p99, in milliseconds.
func quantiles(took []time.Duration) (p50, p99 float64) {
	slices.Sort(took)
	at := func(q float64) float64 {
		return float64(took[min(len(took)-1, int(q*float64(len(took))))]) / float64(time.Millisecond)
	}
	return at(0.5), at(0.99)
}
