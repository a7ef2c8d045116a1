package main

import "context"

// Rows of what a job costs, beside another binary.
const (
	costOfWarm = "cost: drain of no-ops, warm agents"
	costOfExec = "cost: drain of /bin/true, mode exec"
)

// measureCost compares what a job costs by part, under this binary and under
// another one (-before): of warm agents, and with a process of its own. An exec
// job's own process is not counted: it has ended before the next look.
func measureCost(ctx context.Context, b *bench, round int) error {
	warm, execs := b.length(50_000, 200_000), b.length(3000, 10_000)
	binaries := []*bellhop{{b: b, label: "bellhop"}}
	if b.before != "" {
		binaries = append(binaries, &bellhop{b: b, label: programBefore, binary: b.before})
	}
	var steps []func() error
	for _, c := range binaries {
		steps = append(steps, func() error { return b.drainAndCost(ctx, round, costOfExec, c, options{Exec: true}, execs) })
	}
	for _, c := range binaries {
		steps = append(steps, func() error { return b.drainAndCost(ctx, round, costOfWarm, c, options{Drain: true}, warm) })
	}
	return inTurn(round, steps...)
}
