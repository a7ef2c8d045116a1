package locks

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/scheduler/lock"
	"bellhop/sql/view"
)

// asItWas is the row of what really became of the jobs.
const asItWas lock.Order = "as it was"

// past gives the jobs of the database that have ended, as a workload, with the policy that is obeyed.
func (o *simulation) past(ctx context.Context, a *cli.App, s *cli.Session) ([]lock.Arrival, lock.Policy, error) {
	policy, err := s.Policy(ctx)
	if err != nil {
		return nil, policy, err
	}
	since, err := cli.ParseAge(o.since)
	if err != nil {
		return nil, policy, cli.Usage("simulate", "--since "+o.since+": "+err.Error(), "bellhop simulate --from-history --since 7d")
	}
	rows, err := s.Ended(ctx, since, o.jobs, true)
	if cli.IsDenied(err) {
		rows, err = s.Ended(ctx, since, o.jobs, false)
	}
	if err != nil {
		return nil, policy, err
	}
	if len(rows) == 0 {
		return nil, policy, cli.Failed(cli.ExitNotFound, "not found", "bellhop ls -s succeeded",
			"no job that was submitted in the last %s has ended", o.since)
	}
	if o.slots == 0 {
		if o.slots, err = slotsNow(ctx, s); err != nil {
			return nil, policy, err
		}
	}
	jobs, starts := replayed(a, rows, &policy)
	was := lock.Was(jobs, starts, o.slots)
	was.Order = asItWas
	o.was = &was
	return jobs, policy, nil
}

// slotsNow counts the slots of all hosts. Without a host it is the default of a simulation from a file.
func slotsNow(ctx context.Context, s *cli.Session) (slots int, err error) {
	hosts, err := s.Hosts(ctx)
	for _, h := range hosts {
		slots += h.Slots
	}
	return cmp.Or(slots, fileSlots), err
}

// replayed makes a workload of ended jobs, with the start of each. A policy without levels gets Ganeti's levels, and
// those of the jobs.
func replayed(a *cli.App, rows []view.EndedRow, policy *lock.Policy) (jobs []lock.Arrival, starts []time.Duration) {
	configured, hidden, unreadable := len(policy.Levels) > 0, 0, 0
	if !configured {
		policy.Levels = slices.Clone(lock.GanetiLevels)
	}
	for _, r := range rows {
		set, err := readTexts(r.Locks, &policy.Levels, !configured)
		if err != nil { // it never got them: it was of before, or of another configuration
			set = lock.Set{}
			unreadable++
		}
		if r.Unknown {
			hidden++
		}
		j := lock.Arrival{At: exact(max(0, r.At)), Takes: exact(max(0, r.Takes)), Type: r.Type, Priority: r.Priority}
		j.Locks = set
		jobs, starts = append(jobs, j), append(starts, j.At+exact(max(0, r.Waited)))
	}
	if unreadable > 0 {
		fmt.Fprintf(a.Stderr, "bellhop: the locks of %d jobs cannot be read by the configured policy; these are replayed without locks\n",
			unreadable)
	}
	if hidden > 0 {
		fmt.Fprintf(a.Stderr, "bellhop: you may not see arguments: locks that agents' templates make of them count as unknown, in %d jobs\n",
			hidden)
	}
	return jobs, starts
}
