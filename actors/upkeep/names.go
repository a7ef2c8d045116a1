package upkeep

import (
	"context"
	"maps"
	"slices"
	"time"

	"bellhop/scheduler"
	"bellhop/scheduler/intake"
)

// readNames reads the names that wait in run_on, and asks the user's query
// for those that no pattern knows. Not in Receive: it waits for the database.
func (h MaintenancePorts) readNames(ctx context.Context, q *intake.Question) (found intake.Located, err error) {
	if found.Keys, err = h.Queue.Keys(ctx, q.After, intake.NamesAtOnce); err != nil {
		return found, err
	}
	now, ask := time.Now(), map[string]bool{}
	for _, key := range found.Keys {
		if q.Wants(key.Name, now) && h.Queue.Locates() && scheduler.HostsOf(h.Hosts(), key.Name) == nil {
			ask[key.Name] = true
		}
	}
	for _, name := range q.Asked {
		ask[name] = true
	}
	if found.Asked = slices.Sorted(maps.Keys(ask)); len(found.Asked) > 0 {
		found.Located, err = h.Queue.Locate(ctx, h.ID(), found.Asked)
	}
	return found, err
}
