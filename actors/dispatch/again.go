package dispatch

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/actors/message"
	"bellhop/scheduler"
	"bellhop/scheduler/intake"
)

// lookAgain has a pass made when a limit per time lets another job start, and a look when the next waiting job has
// aged.
func (d *dispatcher) lookAgain(c actor.Context, m *claimed, now time.Time) {
	if !m.ages.IsZero() {
		d.inst.Tell(message.RoleMaintenance, &message.Ages{At: m.ages})
	}
	at := now.Add(m.again)
	if m.again <= 0 || d.limitAt.After(now) && !at.Before(d.limitAt) {
		return
	}
	d.limitAt = at
	self := c.Self()
	d.inst.Later(self, m.again+time.Millisecond, &message.Rang{Locks: true})
}

// awaitLook has a claim made when the look is over for jobs that claims leave out.
func (d *dispatcher) awaitLook(c actor.Context, looked <-chan struct{}) {
	known := looked == d.looked
	if d.looked = looked; known || looked == nil {
		return
	}
	inst, ctx, self := d.inst, d.ctx, c.Self()
	go func() {
		select {
		case <-looked:
			inst.Send(self, &lookOver{looked})
		case <-ctx.Done():
		}
	}()
}

func (d *dispatcher) onLookOver(c actor.Context, m *lookOver) {
	if d.looked == m.looked {
		d.looked = nil
	}
	d.happened(c, intake.Woken{Rang: true}) // what it found, claims bring now; nothing else is ready again
}

func (d *dispatcher) onLockedNow(m *message.LockedNow) {
	if hold := d.running[m.Claim.Job]; hold.Claim == m.Claim {
		hold.Locked = true
		d.running[m.Claim.Job] = hold
	}
}

// reshape takes the setup into intake.
func (d *dispatcher) reshape(c actor.Context) {
	cfg := intakeConfig(d.inst)
	d.happened(c, intake.Reshaped{Types: cfg.Types, Takes: cfg.Takes, Hosts: cfg.Hosts})
}

func intakeConfig(inst *Ports) intake.Config {
	cfg := intake.Config{ExclusiveAfter: inst.ExclusiveAfter, Cursors: inst.Cursors, RowType: inst.RowType, Warm: true,
		Locates: inst.Locates(), LocateAgain: inst.Scan}
	for _, a := range inst.setup().Agents {
		cfg.Types = append(cfg.Types, a.Name)
		if !a.Takes.Plain() {
			if cfg.Takes == nil {
				cfg.Takes = map[scheduler.TypeName]scheduler.Takes{}
			}
			cfg.Takes[a.Name] = a.Takes
		}
		if a.Exclusive {
			cfg.Exclusive = append(cfg.Exclusive, a.Name)
		}
		if a.Locked {
			cfg.Locked = append(cfg.Locked, a.Name)
		}
	}
	for _, spec := range inst.setup().Hosts {
		place := scheduler.Locality{Host: spec.Name, Serves: spec.Serves}
		cfg.Hosts = append(cfg.Hosts, intake.Host{Locality: place, Takes: spec.Takes})
	}
	return cfg
}
