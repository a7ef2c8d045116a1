package actors

import (
	"context"
	"maps"
	"slices"

	"bellhop/scheduler"
	"bellhop/scheduler/intake"
)

// readKeys reads the names that wait in run_on, and asks the user's query
// for those that no pattern knows. Not in Receive: it waits for the database.
func (inst *instance) readKeys(ctx context.Context, q intake.Question) (found intake.Located, err error) {
	if inst.Localities == nil {
		return found, nil
	}
	if found.Keys, err = inst.Localities.Keys(ctx, q.After, intake.NamesAtOnce); err != nil {
		return found, err
	}
	ask := map[string]bool{}
	for _, key := range found.Keys {
		if !q.Fresh[key.Name] && inst.Localities.Locates() && scheduler.HostsOf(inst.localities(), key.Name) == nil {
			ask[key.Name] = true
		}
	}
	for _, name := range q.Asked {
		ask[name] = true
	}
	if found.Asked = slices.Sorted(maps.Keys(ask)); len(found.Asked) > 0 {
		found.Located, err = inst.Localities.Locate(ctx, inst.id(), found.Asked)
	}
	return found, err
}

// locates reports whether a query of the user's says where names are.
func (inst *instance) locates() bool { return inst.Localities != nil && inst.Localities.Locates() }

func (inst *instance) localities() []scheduler.Locality {
	list := make([]scheduler.Locality, len(inst.Hosts))
	for i, spec := range inst.Hosts {
		list[i] = scheduler.Locality{Host: spec.Name, Serves: spec.Serves}
	}
	return list
}
