package actors

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
func (h maintenancePorts) readNames(ctx context.Context, q *intake.Question) (found intake.Located, err error) {
	if found.Keys, err = h.queue.Keys(ctx, q.After, intake.NamesAtOnce); err != nil {
		return found, err
	}
	now, ask := time.Now(), map[string]bool{}
	for _, key := range found.Keys {
		if q.Wants(key.Name, now) && h.queue.Locates() && scheduler.HostsOf(h.hosts(), key.Name) == nil {
			ask[key.Name] = true
		}
	}
	for _, name := range q.Asked {
		ask[name] = true
	}
	if found.Asked = slices.Sorted(maps.Keys(ask)); len(found.Asked) > 0 {
		found.Located, err = h.queue.Locate(ctx, h.ID(), found.Asked)
	}
	return found, err
}

// mayName reports whether a name means something here: a host serves it, or the
// user's query knows such names.
func (inst *instance) mayName(name string) bool {
	return inst.Maintenance.Locates() || scheduler.HostsOf(inst.localities(), name) != nil
}

func (inst *instance) localities() []scheduler.Locality {
	list := make([]scheduler.Locality, len(inst.setup().Hosts))
	for i, spec := range inst.setup().Hosts {
		list[i] = scheduler.Locality{Host: spec.Name, Serves: spec.Serves}
	}
	return list
}
