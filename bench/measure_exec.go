package main

import "context"

// measureExec compares warm agents with a process (/bin/true, the cheapest
// there is) for every job: bellhop's own mode exec, and the reference's way
// with eight at once.
func measureExec(ctx context.Context, b *bench, round int) error {
	const row = "warm agents against a process per job, no-op"
	n := b.length(1000, 5000)
	take := func(name string, c contender, o options, n int) func() error {
		return func() error {
			rate, err := b.drained(ctx, c, o, n)
			if err != nil {
				return err
			}
			b.note(round, row, name, rate, "jobs/s")
			return nil
		}
	}
	return inTurn(round,
		take("bellhop", &bellhop{b: b}, options{Drain: true}, 50_000),
		take("process per job: bellhop, mode exec", &bellhop{b: b}, options{Exec: true}, n),
		take("process per job: reference", &reference{b: b}, options{Exec: true}, n))
}
