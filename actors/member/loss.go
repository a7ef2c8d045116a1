package member

import (
	"time"

	"bellhop/actors/message"
	"bellhop/scheduler"
)

// compare looks whether the server that answers is the one that answered before, and knows the last heartbeat that was
// confirmed. Where it is not, or does not, what ran here may be missing there.
func (m *membership) compare(b *beaten) {
	last, asked := m.last, m.lastAsked
	m.last, m.lastAsked = b.beat, b.asked
	reborn := m.reborn // its row is gone: it was buried, or never came to this server
	m.reborn = false
	if last.Server == "" || b.beat.Server == "" { // there is nothing to compare with
		return
	}
	moved := last.Server != b.beat.Server
	look := &message.LookBack{LookBack: scheduler.LookBack{Was: last.Server, Server: b.beat.Server, Asked: asked},
		Since: asked}
	if b.beat.Was.Before(last.At) {
		look.Behind = last.At.Sub(b.beat.Was)
	}
	if look.Behind > 0 || moved && reborn {
		look.Since = time.Time{}
	}
	if moved || look.Behind > 0 {
		m.Tell(message.RoleDispatcher, look)
	}
}
