package actors

import (
	"bellhop/actors/message"
	"bellhop/actors/port"
	"bellhop/scheduler"
)

// Reload takes another setup. What runs goes on; types that are not there any more
// take no further lines, and their processes go when they are idle, as do those
// of renewed types, in whose place others come. The launcher has to know them.
func (s *System) Reload(to port.Setup, renewed []scheduler.TypeName) {
	s.inst.quotas.Reload(to.Agents)
	s.inst.live.Store(&to)
	m := &message.Reshaped{Renewed: renewed}
	for _, role := range []string{message.RoleHosts, message.RoleDispatcher, message.RoleMembership} {
		s.inst.Tell(role, m)
	}
	s.inst.Tell(message.RoleMaintenance, &message.DueNow{}) // what waits is told anew why
}
