package main

import "context"

// measureFinished compares a table with 1,000,000 finished rows with an empty one.
func measureFinished(ctx context.Context, b *bench, round int) error {
	template, err := b.grown(ctx, "1,000,000 finished rows", `
		set session_replication_role = replica; -- without a ring
		insert into bellhop.jobqueue (type, args, state, attempt, fence, host, child, started_at, ended_at, exit_code)
		select 'noop', g::text, 'succeeded', 1, 1, 'local', 'noop.1', clock_timestamp(), clock_timestamp(), 0 from generate_series(1, 1000000) g`)
	if err != nil {
		return err
	}
	g := growth{
		row:      "1,000,000 finished rows",
		label:    "bellhop",
		template: template,
		make:     func() *bellhop { return &bellhop{b: b} },
		after:    func(ctx context.Context, s *session) error { return s.check(ctx) },
	}
	empty := g
	empty.label, empty.template = "bellhop, empty table", ""
	return inTurn(round, empty.step(ctx, b, round), g.step(ctx, b, round))
}
