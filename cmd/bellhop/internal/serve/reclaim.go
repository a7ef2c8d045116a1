package serve

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"bellhop/agents"
	"bellhop/machine"
	"bellhop/sql/store"
)

// reapPatience is how long what cannot be killed is waited for.
const reapPatience = 5 * time.Second

// reap ends what lives on of agents whose guards were killed: their jobs may begin again at any time, and nothing
// else would end it.
func reap(ctx context.Context, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(ctx, reapPatience)
	defer cancel()
	n, err := agents.Reap(ctx)
	if n > 0 {
		log.Warn("ended leftover processes of agents whose guards were killed", "processes", n)
	}
	if err != nil {
		log.Error("cannot end leftover processes of agents whose guards were killed", "error", err)
	}
}

// reclaim gives back at once what dead instances have left: those of this machine whose process is gone, after what
// they left running has been ended, and those that are silent for longer than they promised. A live instance keeps
// its jobs: its claims are under fences that this does not touch.
func reclaim(ctx context.Context, url string, log *slog.Logger) error {
	registry, err := store.NewRegistry(url)
	if err != nil {
		return err
	}
	defer registry.Close()
	u := reaper{registry, machine.This()}
	reap(ctx, log)
	suspects, err := registry.Suspects(ctx, 0)
	if err != nil {
		return err
	}
	for _, s := range suspects {
		because, gone := "no heartbeat for longer than its lag", u.Dead(s)
		switch {
		case gone:
			because = fmt.Sprintf("its process %d is gone", s.Pid)
			if err := u.Reap(ctx, s); err != nil {
				log.Error("cannot end the processes of a dead instance; its jobs wait", "instance", s.ID, "error", err)
				continue
			}
		case !s.Silent:
			log.Info("left alone: it lives, or that is not known yet", "instance", s.ID, "name", s.Name, "machine", s.Machine)
			continue
		}
		did, jobs, err := u.MarkGone(ctx, s.ID, because, gone)
		if err != nil {
			return err
		}
		if did {
			log.Warn("gave back the jobs of a dead instance", "instance", s.ID, "name", s.Name, "because", because, "jobs",
				jobs)
		}
	}
	return nil
}
