package doctor

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/report"
	"bellhop/sql/view"
)

const (
	// failingSince is how long ago a job may have ended that tells how its type is.
	failingSince = time.Hour
	// oldAfter is when a finished job is old: what prune deletes by itself.
	oldAfter = 72 * time.Hour
)

// checkFindings makes the checks that the pages, the API and /metrics make too, with more to look at: how jobs have
// ended is counted in the queue itself. It asks the instance of this machine, and counts rows of jobs that were over
// long ago.
func (d *doctor) checkFindings(ctx context.Context, s *cli.Session) error {
	scene, err := report.LookAround(ctx, s.Look)
	if err != nil {
		if plan, bad := cli.Schema(); bad == nil && plan.Check(ctx, s.Conn) != nil {
			return nil // the schema is another one, which was said
		}
		return err
	}
	scene.OldAfter = d.old
	if scene.Open, err = s.Open(ctx, d.old); err != nil {
		return err
	}
	types, err := s.Work(ctx, failingSince, oldAfter)
	if err != nil {
		return err
	}
	scene.Ended = nil
	old := int64(0)
	for _, t := range types {
		old += t.Old
		scene.Ended = append(scene.Ended, report.Ended{Type: t.Type, Failed: t.Failed, Succeeded: t.Succeeded})
	}
	if !scene.Server.SeesAll {
		d.note("transactions", scene.Server.Login+" sees only its own",
			d.psql("grant pg_read_all_stats to "+cli.Quoted(scene.Server.Login)))
	}
	d.found(report.JudgeQueue(scene))
	hostname, err := os.Hostname()
	here := func(i view.InstanceRow) bool { return i.Hostname == hostname }
	if err == nil && slices.ContainsFunc(scene.Instances, here) {
		d.checkReady(ctx)
	}
	says := fmt.Sprintf("%s of jobs finished three days ago", cli.Counted(old, "row"))
	if old >= d.finished {
		d.note("finished jobs", says, "bellhop prune --older-than 3d")
	} else {
		d.ok("finished jobs", says)
	}
	return nil
}
