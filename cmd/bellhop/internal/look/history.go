package look

import (
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/scheduler"
	"bellhop/scheduler/history"
	"bellhop/scheduler/sketch"
	"bellhop/sql/view"
)

// historyPage is how many rows one look gives at most.
const historyPage = 50_000

// span is what was done of a type within an hour, or whatever was asked for.
type span struct {
	At   time.Time          `json:"at"`
	Type scheduler.TypeName `json:"type"`
	history.Counts
	view.Times
	wait, run sketch.Sketch
}

func HistoryCommand(a *cli.App) *cobra.Command {
	var types []string
	var since time.Duration
	var by string
	var asCSV bool
	c := &cobra.Command{
		Use:   "history",
		Short: "Show finished work by type and hour, and how long jobs waited and ran",
		Long: `Show finished work by type and hour: how many jobs succeeded, failed and were tried
again, and how long attempts waited and ran: the times that half, nine of ten and 99 of
100 of them stayed below (to within 4.5 %, over all instances). The history is kept for
32 days. Times are UTC. JSON and CSV have times in seconds.`,
		Example: "  bellhop history --since 24h\n  bellhop history -t mail --by day --since 720h --csv > mail.csv",
		Args:    a.NoArgs(),
		RunE: func(cmd *cobra.Command, args []string) error {
			width, known := map[string]time.Duration{"minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour}[by]
			switch {
			case !known:
				return cli.Usage("history", fmt.Sprintf("--by %q", by), "bellhop history --by minute, hour or day")
			case since <= 0:
				return cli.Usage("history", "--since "+since.String()+" is not a time in the past", "bellhop history --since 24h")
			}
			return a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, _ []string) error {
				spans, err := readHistory(ctx, s, time.Now().Add(-since).Truncate(width), types, width)
				switch {
				case err != nil:
					return err
				case a.JSON():
					return a.PrintJSON(spans)
				case asCSV:
					return historyCSV(a, spans)
				case len(spans) == 0:
					a.Note("no job ended within %s; the last minute is not counted yet", since)
					return nil
				}
				return a.PrintTable(historyTable(spans, width))
			})(cmd, args)
		},
	}
	c.Flags().StringSliceVarP(&types, "type", "t", nil, "only this `type`; repeatable")
	c.Flags().DurationVar(&since, "since", 24*time.Hour, "start so long ago, at most 32 days")
	c.Flags().StringVar(&by, "by", "hour", "minute, hour or day")
	c.Flags().BoolVar(&asCSV, "csv", false, "as CSV, with a header")
	return c
}

// readHistory adds the minutes of all instances up, the newest first.
func readHistory(
	ctx context.Context, s *cli.Session, since time.Time, types []string, width time.Duration,
) ([]*span, error) {
	names := make([]scheduler.TypeName, len(types))
	for i, t := range types {
		names[i] = scheduler.TypeName(t)
	}
	type key struct {
		at  time.Time
		typ scheduler.TypeName
	}
	spans := map[key]*span{}
	for until := (time.Time{}); ; {
		rows, err := s.History(ctx, since, until, names)
		if err != nil {
			return nil, err
		}
		if len(rows) == historyPage { // the oldest minute may be cut: the next look has all of it
			until = rows[len(rows)-1].Minute.Add(time.Minute)
			whole := slices.IndexFunc(rows, func(r view.HistoryRow) bool { return r.Minute.Before(until) })
			rows = rows[:whole]
		} else {
			until = time.Time{}
		}
		for _, r := range rows {
			k := key{r.Minute.UTC().Truncate(width), r.Type}
			if spans[k] == nil {
				spans[k] = &span{At: k.at, Type: k.typ}
			}
			spans[k].add(r)
		}
		if until.IsZero() || len(rows) == 0 {
			break
		}
	}
	list := []*span{}
	for _, p := range spans {
		p.WaitP50, p.WaitP90, p.WaitP99 = quantiles(&p.wait)
		p.RunP50, p.RunP90, p.RunP99 = quantiles(&p.run)
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b *span) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Type, b.Type)) })
	return list, nil
}

func (p *span) add(r view.HistoryRow) {
	p.Counts.Add(r.Counts)
	p.wait.AddPairs(r.Wait)
	p.run.AddPairs(r.Run)
}

// quantiles are p50, p90 and p99 in seconds; nil: nothing was counted.
func quantiles(s *sketch.Sketch) (p50, p90, p99 *float64) {
	of := func(p float64) *float64 {
		d, ok := s.Quantile(p)
		if !ok {
			return nil
		}
		seconds := d.Seconds()
		return &seconds
	}
	return of(0.5), of(0.9), of(0.99)
}

func historyTable(spans []*span, width time.Duration) cli.Table {
	form := map[time.Duration]string{time.Minute: "2006-01-02 15:04", time.Hour: "2006-01-02 15:00", 24 * time.Hour: "2006-01-02"}[width]
	t := cli.Table{Header: []string{"AT", "TYPE", "SUCCEEDED", "FAILED", "CANCELLED", "RETRIED", "ITEMS", "ITEMS_FAILED",
		"WAIT_P50", "WAIT_P90", "WAIT_P99", "RUN_P50", "RUN_P90", "RUN_P99"}}
	for _, p := range spans {
		row := []any{p.At.Format(form), p.Type, p.Succeeded, p.Failed, p.Cancelled, p.Retried, p.ItemsDone, p.ItemsFailed}
		for _, q := range p.Each() {
			row = append(row, cli.Span(q))
		}
		t.Add(row...)
	}
	return t
}

// historyCSV has the JSON's names, and times in seconds.
func historyCSV(a *cli.App, spans []*span) error {
	w := csv.NewWriter(a.Stdout)
	records := [][]string{{"at", "type", "taken", "succeeded", "failed", "cancelled", "retried", "items_done", "items_failed",
		"wait_p50", "wait_p90", "wait_p99", "run_p50", "run_p90", "run_p99"}}
	for _, p := range spans {
		row := []string{p.At.Format(time.RFC3339), string(p.Type)}
		for _, n := range []int64{p.Taken, p.Succeeded, p.Failed, p.Cancelled, p.Retried, p.ItemsDone, p.ItemsFailed} {
			row = append(row, strconv.FormatInt(n, 10))
		}
		for _, q := range p.Each() {
			cell := ""
			if q != nil {
				cell = strconv.FormatFloat(*q, 'f', 6, 64)
			}
			row = append(row, cell)
		}
		records = append(records, row)
	}
	return w.WriteAll(records)
}
