package doctor

import (
	"context"
	"fmt"
	"time"

	"bellhop/cmd/bellhop/internal/cli"
)

const (
	// failingSince is how long ago a job may have ended that tells how its type
	// is, failingLeast how many have to have failed, more than have succeeded.
	failingSince = time.Hour
	failingLeast = 3
	// oldAfter is when a finished job is old: what prune deletes by itself.
	oldAfter = 72 * time.Hour
)

// checkWork looks for types whose jobs go badly: those that no instance serves,
// those whose agents do not come up or whose jobs fail; and for rows of jobs
// that were over long ago.
func (d *doctor) checkWork(ctx context.Context, s *cli.Session) error {
	types, err := s.Work(ctx, failingSince, oldAfter)
	if err != nil {
		return err
	}
	agents, err := s.Agents(ctx)
	if err != nil {
		return err
	}
	fine, old := true, int64(0)
	for _, a := range agents {
		if words := cli.Trouble(a.Trouble, nil); words != "" {
			fine = false
			d.mend("types", fmt.Sprintf("agents of %s do not come up: %s", a.Type, cli.Flat(words)), "bellhop config check --spawn   # starts each once, and shows what it says")
		}
	}
	for _, t := range types {
		old += t.Old
		if t.Unknown {
			fine = false
			d.mend("types", fmt.Sprintf("%s of type %s, which no instance serves", waits(t.Ready), t.Type),
				fmt.Sprintf("bellhop ls -s ready -t %s   # then an agent of that type in bellhop.yaml and a restart, or: bellhop cancel ID", cli.ShellWord(t.Type)))
		}
		if t.Failed >= failingLeast && t.Failed > t.Succeeded {
			fine = false
			d.mend(
				"types",
				fmt.Sprintf("of the jobs of %s that ended in the last hour, %d failed and %d succeeded", t.Type, t.Failed,
					t.Succeeded),
				fmt.Sprintf("bellhop ls -s failed -t %s   # and of one of them: bellhop explain ID", cli.ShellWord(t.Type)),
			)
		}
	}
	if fine {
		d.ok("types", "no type fails, and none waits for an agent that nobody has")
	}
	if old >= d.finished {
		d.note("finished jobs", fmt.Sprintf("%s of jobs that were over three days ago", cli.Counted(old, "row")), "bellhop prune --older-than 3d")
	} else {
		d.ok("finished jobs", fmt.Sprintf("%s of jobs that were over three days ago", cli.Counted(old, "row")))
	}
	return nil
}

func waits(n int64) string {
	if n == 1 {
		return "1 job waits that is"
	}
	return cli.Grouped(n) + " jobs wait that are"
}
