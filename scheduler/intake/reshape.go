package intake

import (
	"slices"
	"time"

	"bellhop/scheduler"
)

// Reshaped: the configuration has other types, or its hosts take or serve
// something else. Exclusive and Locked stay as they were.
type Reshaped struct {
	Types []scheduler.TypeName
	Takes map[scheduler.TypeName]scheduler.Takes
	Hosts []Host
}

func (m Reshaped) apply(in *Intake, _ time.Time, _ *Step) {
	in.Types = claimable(m.Types)
	in.retake(m.Takes)
	clear(in.takes)
	in.locality.hosts = nil
	for _, h := range m.Hosts {
		if h.Takes != nil {
			in.takes[h.Host] = h.Takes
		}
		in.locality.hosts = append(in.locality.hosts, h.Locality)
	}
	// Jobs of a type that has come may have waited for long.
	in.ring++
	in.readmitted++
	in.passes.again()
}

// claimable are the types that agents serve: of those that bellhop itself serves,
// command and dummy, nothing is ever claimed.
func claimable(types []scheduler.TypeName) []scheduler.TypeName {
	served := func(t scheduler.TypeName) bool { return t == "command" || t == "dummy" }
	list := slices.DeleteFunc(slices.Clone(types), served)
	slices.Sort(list)
	return list
}
