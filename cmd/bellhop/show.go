package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/spf13/cobra"

	"bellhop/scheduler"
	"bellhop/sql/store"
)

// shownItems is how many failed items are shown.
const shownItems = 1000

func showCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "show ID",
		Short:   "Show everything about one job",
		Long:    "Show everything about one job, named by id or key: its columns, every attempt, and the items that failed.",
		Example: "  bellhop show 42\n  bellhop show nightly -o json",
		Args:    a.jobArgs(1, 1),
		RunE: a.withDatabase(func(ctx context.Context, s *session, _ *cobra.Command, args []string) error {
			job, err := s.readJob(ctx, args[0])
			if err != nil {
				return err
			}
			if a.json() {
				return a.printJSON(job)
			}
			return a.printJob(job)
		}),
	}
}

// shownJob is all that there is to know of a job. Payload and Items are nil
// where the account may not see them.
type shownJob struct {
	store.JobRow
	*store.PayloadRow
	Attempts []store.AttemptRow `json:"attempts"`
	Lost     []store.LostRow    `json:"lost"`
	Items    []store.ItemRow    `json:"items"`
}

func (s *session) readJob(ctx context.Context, word string) (shownJob, error) {
	var job shownJob
	id, err := findJob(ctx, s.Look, word)
	if err != nil {
		return job, err
	}
	row, ok, err := s.Job(ctx, id)
	if err != nil {
		return job, err
	}
	if !ok { // deleted since we looked
		return job, failed(exitNotFound, "not found", "bellhop ls", "there is no %s", describe(word))
	}
	job.JobRow = row
	payloads, err := s.Payloads(ctx, []scheduler.JobID{id}, 0)
	if err != nil && !isDenied(err) {
		return job, err
	}
	if p, ok := payloads[id]; ok {
		job.PayloadRow = &p
	}
	if job.Attempts, err = s.Look.Attempts(ctx, id); err != nil {
		return job, err
	}
	if job.Lost, err = s.Look.Lost(ctx, id); err != nil {
		return job, err
	}
	if job.Items, err = s.FailedItems(ctx, id, shownItems); err != nil && !isDenied(err) {
		return job, err
	}
	return job, nil
}

// printJob prints what is set, a line each, then attempts and failed items.
func (a *app) printJob(j shownJob) error {
	var lines []string
	line := func(name, value string) {
		if value != "" {
			lines = append(lines, fmt.Sprintf("%-17s %s", name, clean(value)))
		}
	}
	line("id", strconv.FormatInt(int64(j.ID), 10))
	line("state", string(j.State))
	line("type", string(j.Type))
	line("key", text(j.Key))
	if p := j.PayloadRow; p != nil {
		line("args", text(p.Args))
		line("msq", text(p.MSQ))
		line("repeat", text(p.Repeat))
		for _, name := range slices.Sorted(maps.Keys(p.Vars)) {
			line("vars", name+"="+p.Vars[name])
		}
		line("timeout", text(p.Timeout))
	} else {
		line("args", "(not shown: this account may not read them)")
	}
	line("priority", priority(j.JobRow))
	line("run_on", text(j.RunOn))
	line("locks", strings.Join(j.Locks, " "))
	line("reasons", strings.Join(j.Reasons, " "))
	line("waiting_for", text(j.WaitingFor))
	if j.CancelRequested {
		line("cancel_requested", "yes")
	}
	line("host", text(j.Host))
	line("child", text(j.Child))
	line("instance", number(j.Instance))
	line("attempt", fmt.Sprintf("%d of %d", j.Attempt, j.MaxAttempts))
	line("fence", strconv.FormatInt(j.Fence, 10))
	line("created_at", moment(&j.CreatedAt))
	line("run_at", instant(j.RunAt))
	line("started_at", moment(j.StartedAt))
	line("ended_at", moment(j.EndedAt))
	line("exit_code", number(j.ExitCode))
	line("error", text(j.Error))
	line("items_total", number(j.ItemsTotal))
	line("items_done", number(j.ItemsDone))
	line("items_failed", number(j.ItemsFailed))
	if p := j.PayloadRow; p != nil {
		line("successes", number(p.Successes))
		if p.Deaths > 0 {
			line("deaths", strconv.Itoa(p.Deaths))
		}
	}
	line("traceparent", text(j.Traceparent))
	if err := a.printf("%s\n", strings.Join(lines, "\n")); err != nil {
		return err
	}
	if err := a.printAttempts(j.Attempts, j.Lost); err != nil {
		return err
	}
	return a.printItems(j.Items)
}

func instant(t pgtype.Timestamptz) string {
	switch {
	case !t.Valid:
		return ""
	case t.InfinityModifier != pgtype.Finite:
		return t.InfinityModifier.String()
	}
	return moment(&t.Time)
}

// printAttempts prints every run, those that were lost among them, in the order in which they began.
func (a *app) printAttempts(attempts []store.AttemptRow, lost []store.LostRow) error {
	if len(attempts)+len(lost) == 0 {
		return nil
	}
	t := table{header: []string{"ATTEMPT", "HOST", "CHILD", "STARTED_AT", "ENDED_AT", "EXIT_CODE", "SUCCESSES", "ERROR"}}
	before := func(at *time.Time) {
		for len(lost) > 0 && (at == nil || lost[0].StartedAt == nil || !lost[0].StartedAt.After(*at)) {
			l := &lost[0]
			t.add("-", text(l.Host), text(l.Child), moment(l.StartedAt), moment(&l.LostAt), "", "", l.Told())
			lost = lost[1:]
		}
	}
	for _, at := range attempts {
		if at.StartedAt != nil {
			before(at.StartedAt)
		}
		t.add(strconv.Itoa(at.Attempt), text(at.Host), text(at.Child), moment(at.StartedAt), moment(at.EndedAt), number(at.ExitCode),
			number(at.Successes), text(at.Error))
	}
	before(nil)
	if err := a.printf("\n"); err != nil {
		return err
	}
	return a.printTable(t)
}

func (a *app) printItems(items []store.ItemRow) error {
	if len(items) == 0 {
		return nil
	}
	if len(items) == shownItems {
		a.note("at most %d failed items are shown; all of them are in bellhop.item", shownItems)
	}
	t := table{header: []string{"ITEM", "TRIES", "EXIT_CODE", "ERROR", "LINE"}}
	for _, it := range items {
		t.add(strconv.FormatInt(it.Item, 10), strconv.Itoa(it.Tries), number(it.ExitCode), text(it.Error), it.Line)
	}
	if err := a.printf("\n"); err != nil {
		return err
	}
	return a.printTable(t)
}
