package agents

import "time"

// unguarded records that the guard of a process has died (0: which one is not known), and gives how many guards the
// line in hand has taken along. mu is held, or no other goroutine knows the process yet.
func (p *Process) unguarded(guard int) (deaths int) {
	l := p.launcher
	l.suspecting.Lock()
	defer l.suspecting.Unlock()
	now := time.Now()
	if p.inHand {
		deaths = l.suspects.Died(guard, p.hand.ID(), now)
	}
	if !p.spec.alone() && (p.inHand || !p.ready) {
		l.suspects.DiedUnder(p.spec.Type, now)
	}
	return deaths
}

// alone reports whether the process that is about to start gets a guard of its
// own, since a guard has died with its line in hand, or under an agent of its
// type that stays up.
func (p *Process) alone() bool {
	l, line := p.launcher, p.inHandNow()
	l.suspecting.Lock()
	defer l.suspecting.Unlock()
	if p.spec.alone() {
		return l.suspects.Alone(line.ID(), time.Now())
	}
	return l.suspects.TypeAlone(p.spec.Type, time.Now())
}
