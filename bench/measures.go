package main

import (
	"cmp"
	"context"
	"slices"
)

// measure is one row, or a few that are taken together, of the table.
type measure struct {
	name  string
	about string
	short int // rounds in the short form, 0: not in it
	long  int // rounds in the long form
	run   func(ctx context.Context, b *bench, round int) error
}

func (m measure) rounds(full bool) int {
	if full {
		return m.long
	}
	return cmp.Or(m.short, 1)
}

var measures = []measure{
	{"latency", "one job at a time into an idle queue, until the agent has the line", 3, 7, measureLatency},
	{"load", "the same under 500 other jobs a second", 2, 5, measureLoad},
	{"hop", "a chain of jobs, each of which needs the one before", 2, 7, measureHop},
	{"locks", "jobs with locks: each its own, and one for all", 2, 5, measureLocks},
	{"drain", "50,000 waiting no-op jobs", 3, 7, measureDrain},
	{"handlers", "handlers inside an app, beside River's and beside agents behind pipes", 1, 5, measureHandlers},
	{"steps", "steps that handlers inside an app keep, beside an UPDATE and its commit", 1, 5, measureSteps},
	{"sleepers", "jobs that sleep or await an event: what they cost, how late they wake", 1, 1, measureSleepers},
	{"take", "workers without an instance, beside handlers inside an app", 1, 5, measureTake},
	{"traces", "the same with traces of 1 %, beside none, and beside no metrics either", 3, 11, measureTraces},
	{"insert", "one insert per transaction while the scheduler is busy", 2, 5, measureInsert},
	{"bulk", "COPY into the queue", 2, 7, measureBulk},
	{"msq", "items of one query to two warm children in lockstep", 3, 7, measureMSQ},
	{"attach", "rows of an attached table, beside jobs and items of one query, a process each", 1, 3, measureAttach},
	{"steady", "produce and consume at once, 1 ms of work a job", 1, 3, measureSteady},
	{"shares", "a third and two thirds of the drain's peak, steadily", 1, 3, measureShares},
	{"fair", "jobs of 1,000 keys that take turns, beside jobs without a share", 0, 3, measureFair},
	{"idle", "what a scheduler costs that has nothing to do", 1, 1, measureIdle},
	{"exec", "warm agents against a process per job", 1, 5, measureExec},
	{"raw", "what the machine can do: NOTIFY, commit, claim of n, pipe, cursor", 1, 3, measureRaw},
	{"workflows", "10,000 workflows: slots of cron, steps, what they cost at rest, a fourth instance", 0, 1, measureWorkflows},
	{"web", "pages and API: time, statements, what viewers cost, how current", 1, 3, measureWeb},
	{"server", "what a job costs the server, beside another binary (-before)", 0, 5, measureServer},
	{"instances", "4, 8 and 20 instances on one database", 0, 5, measureInstances},
	{"twenty", "20 instances on one database, beside as many of River", 0, 3, measureTwenty},
	{"cost", "what a job costs by part, warm and with a process of its own, beside another binary (-before)", 0, 5, measureCost},
	{"pickup", "idle pick-up of 1, 4 and 8 instances on one database, beside another binary (-before)", 0, 5, measurePickUp},
	{"finished", "1,000,000 finished rows in the table", 0, 3, measureFinished},
	{"millions", "10,000,000 finished and 5,000,000 waiting rows (-millions), which takes minutes", 0, 1, measureMillions},
	{"ready", "1,000,000 ready rows in the table", 0, 2, measureReady},
	{"snapshot", "a snapshot held open while 150,000 jobs pass", 0, 3, measureSnapshot},
	{"long", "hours (-span a phase): many workers, a held snapshot, readers, bursts, kills, restarts", 0, 1, measureLong},
	{"children", "1,000 idle children on one host", 0, 1, measureChildren},
	{"types", "200 types of jobs", 0, 3, measureTypes},
}

// inTurn runs the steps of a round; none is always first.
func inTurn(round int, steps ...func() error) error {
	if round%2 == 0 {
		slices.Reverse(steps)
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
