package look

import (
	"context"
	"math"
	"strconv"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/sql/view"
)

// LocksCommand lists the holders of locks, and the jobs that wait for them.
func LocksCommand(a *cli.App) *cobra.Command {
	first := 10
	c := &cobra.Command{
		Use:   "locks",
		Short: "List the holders of locks, and the jobs that wait behind them, in order",
		Long: `List the jobs that hold locks, and the jobs that wait behind them, in order. The next
pass looks at a job marked next: it waits for a slot, or has just come. A job marked
asks is running and waits for a further lock: its agent does, or the first item of its
query that cannot get its locks. A job marked reserved for has waited so long that no
younger job starts in its way.`,
		Example: "  bellhop locks\n  bellhop locks --limit 100 -o json",
		Args:    a.NoArgs(),
		RunE: a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, _ []string) error {
			locks, err := s.Locks(ctx, min(max(first, 1), math.MaxInt32))
			if err == nil && len(locks) == 0 && !a.JSON() {
				return a.Printf("no job holds a lock, and none waits for one\n")
			}
			return cli.PrintRows(a, locks, err, "", "LOCK, JOB, TYPE, WHAT, FOR, INSTANCE, WAITING FOR", lockedRow)
		}),
	}
	c.Flags().IntVar(&first, "limit", first, "list at most this `number` of jobs behind each lock")
	return c
}

func lockedRow(l view.LockRow) []any {
	name, what, instance := l.Level+":"+l.Name, l.What, "-"
	switch l.What {
	case "holds":
		what, instance = "holds "+l.Mode, strconv.FormatInt(l.Instance, 10)
	case "asks":
		what, instance = "asks "+l.Mode, strconv.FormatInt(l.Instance, 10)
		if l.Item {
			what = "an item asks " + l.Mode
		}
	case "waits":
		what = "waits, " + strconv.FormatInt(l.Place, 10) + "."
	default:
		name = "-"
	}
	if l.Reserved {
		what += ", reserved for"
	}
	return []any{name, l.Job, l.Type, what, cli.Age(l.Age), instance, l.WaitingFor}
}
