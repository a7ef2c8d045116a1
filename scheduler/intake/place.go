package intake

import (
	"fmt"
	"slices"
	"strings"

	"bellhop/scheduler"
)

// Accounts tells what is known of a type, host by host, for the reader of a log: the credits
// for it, and what the last claims have found.
func (in *Intake) Accounts(t scheduler.TypeName) string {
	var all []string
	for _, name := range in.hostNames() {
		c := in.capacities[name]
		one := fmt.Sprintf("%s: %d lines now, %d children of it and %d of any could come up", name, c.now[t], c.spawn[t], c.room)
		switch {
		case c.emptyAt[t] == in.ring:
			one += ", asked since the last ring: nothing more"
		case c.outrankedAt[t] == in.ring:
			one += ", asked since the last ring: nothing as urgent as what others wait with"
		default:
			one += ", not asked since the last ring"
		}
		if len(c.preemptingFor) > 0 {
			one += fmt.Sprintf(", makes room for %v", c.preemptingFor)
		}
		all = append(all, one)
	}
	if in.control.Pauses(t) {
		all = append(all, "it is paused")
	}
	if !slices.Contains(in.Types, t) {
		all = append(all, "it is none of this instance's types")
	}
	if in.leaving {
		all = append(all, "nothing more is claimed")
	}
	if in.excl.draining {
		all = append(all, "a job that must be alone comes first")
	}
	if len(in.msqs) > 0 {
		all = append(all, fmt.Sprintf("%d of %d queries are read", len(in.msqs), in.Cursors))
	}
	return strings.Join(all, "; ")
}
