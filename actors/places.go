package actors

import (
	"context"
	"maps"
	"slices"

	"bellhop/scheduler"
	"bellhop/scheduler/intake"
)

// lookForKeys reads the names that wait in run_on, and asks the user's query
// for those that no pattern knows. Not in Receive: it waits for the database.
func (h *house) lookForKeys(ctx context.Context, q intake.Question) (found intake.Located, err error) {
	if h.Localities == nil {
		return found, nil
	}
	if found.Keys, err = h.Localities.Keys(ctx, q.After, intake.NamesAtOnce); err != nil {
		return found, err
	}
	ask := map[string]bool{}
	for _, key := range found.Keys {
		if !q.Fresh[key.Name] && h.Localities.Locates() && scheduler.Resolve(h.places(), key.Name) == nil {
			ask[key.Name] = true
		}
	}
	for _, name := range q.Asked {
		ask[name] = true
	}
	if found.Asked = slices.Sorted(maps.Keys(ask)); len(found.Asked) > 0 {
		found.Located, err = h.Localities.Locate(ctx, h.id(), found.Asked)
	}
	return found, err
}

// locates reports whether a query of the user's says where names are.
func (h *house) locates() bool { return h.Localities != nil && h.Localities.Locates() }

func (h *house) places() []scheduler.Place {
	list := make([]scheduler.Place, len(h.Hosts))
	for i, spec := range h.Hosts {
		list[i] = scheduler.Place{Host: spec.Name, Serves: spec.Serves}
	}
	return list
}
