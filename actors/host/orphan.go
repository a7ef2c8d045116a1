package host

import (
	"time"

	"bellhop/actors/lasting"
	"bellhop/actors/message"
	"bellhop/scheduler"
)

// orphan sees to the process when the actor ends before it: it is killed, and
// only when it is dead goes its work back, so that no job is ever in two
// processes. What the process had answered is not lost.
func (k *child) orphan() {
	if k.alarm != nil {
		k.alarm.Stop()
	}
	if k.fork != nil {
		k.fork.mu.Lock()
		k.fork.abandoned = true
		if k.process == nil {
			k.process = k.fork.process
		}
		k.fork.mu.Unlock()
	}
	inst, fsm, process := k.inst, k.fsm, k.process
	owed := k.owed
	if len(owed) > 0 {
		inst.Outbox.Owe(owed...)
	}
	for job, results := range k.items {
		inst.Tell(message.RoleMSQ(job), &message.Answered{Results: results})
	}
	for _, l := range k.returned { // no call is working on it
		inst.requeue(l, "")
	}
	if k.ended { // it panicked over the end of its process
		defer inst.processEnded(k.host, k.typ.Name)
	}
	if process == nil {
		return
	}
	lines, host, typ := fsm.Lines, k.host, k.typ.Name
	inst.Orphans.Add(lines, 1)
	go func() {
		defer inst.processEnded(host, typ)
		defer inst.Orphans.Add(lines, -1)
		process.Kill()
		<-process.Done()
		now := time.Now()
		if fsm.State == scheduler.Busy || fsm.State == scheduler.Freeing {
			fsm.Stop = scheduler.StopReplaced
			fsm.State = scheduler.Freeing
		}
		last := process.Take(nil)
		returned := scheduler.ChildEvent{Kind: scheduler.EventReturned, Lines: process.Recall()}
		for _, ev := range append([]scheduler.ChildEvent{returned}, last...) {
			var effects []scheduler.Effect
			fsm, effects = fsm.Step(ev, now)
			for i := range effects {
				inst.settleOrphan(typ, &effects[i])
			}
		}
	}()
}

// settleOrphan carries out those effects that are not about the process: it is dead.
func (inst *Ports) settleOrphan(typ scheduler.TypeName, e *scheduler.Effect) {
	switch {
	case e.Kind == scheduler.EffectSettle && e.Result.Line.Item == 0:
		inst.Outbox.Owe(lasting.Judged(inst.Retry(typ), e.Result))
	case e.Kind == scheduler.EffectSettle:
		inst.Tell(message.RoleMSQ(e.Result.Line.Claim.Job), &message.Answered{Results: []scheduler.Result{e.Result}})
	case e.Kind == scheduler.EffectGiveBack:
		for _, l := range e.Lines {
			inst.requeue(l, "")
		}
	}
}
