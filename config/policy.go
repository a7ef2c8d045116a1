package config

import (
	"path"
	"slices"

	"bellhop/scheduler/lock"
)

// orders are those in which a queue may be worked off; others are for simulations.
var orders = []string{string(lock.Predictive), string(lock.FIFO)}

// policyFields are the keys under policy.
func (r *reader) policyFields(p *lock.Policy) []field {
	return []field{
		{name: "order", read: r.oneOf("order", orders, func(s string) { p.Order = lock.Order(s) })},
		{name: "tick", read: r.duration(&p.Constants.Tick, someTime)},
		{name: "ageing_ticks", read: r.count(&p.Constants.AgeingTicks)},
		{name: "priority_tick", read: r.duration(&p.Constants.PriorityTick, maybeNone)},
		{name: "levels", read: r.levels(&p.Levels)},
	}
}

func (r *reader) levels(to *lock.Levels) func(node, string) {
	return r.words((*[]string)(to), "[customer, database]", func(n node, at, s string) bool {
		if err := (lock.Levels{s}).Check(); err != nil {
			r.problem(n, "", "%s: %s", at, err)
			return false
		}
		return true
	})
}

// locks are an agent's templates. Their levels are compared with policy.levels
// when the whole file is read.
func (r *reader) locks(to *[]string) func(node, string) {
	return r.words(to, `["customer:${vars.CUSTOMER}=exclusive"]`, func(n node, at, s string) bool {
		if _, err := lock.ParseTemplate(s, nil); err != nil {
			r.problem(n, "", "%s: %s", at, err)
			return false
		}
		return true
	})
}

// share is an agent's template of its jobs' shares.
func (r *reader) share(to *lock.ShareTemplate) func(node, string) {
	return func(n node, at string) {
		s, ok := r.string(n, at)
		if !ok || s == "" {
			return
		}
		t, err := lock.ParseShare(s)
		if err != nil {
			r.problem(n, "", "%s: %s", at, err)
		}
		*to = t
	}
}

// checkLockVars finds what an agent's locks want of jobs that it does not take from
// them: a job with the var would fail, and all without it would wait for each other.
func (r *reader) checkLockVars(n node, at string, a *Agent) {
	for _, text := range a.Locks {
		if t, err := lock.ParseTemplate(text, nil); err == nil { // else it is told already
			r.checkVars(n, at+".locks: "+text, at, a, t.Vars())
		}
	}
}

// checkVars finds vars that a template wants, and that the agent does not take.
func (r *reader) checkVars(n node, template, at string, a *Agent, names []string) {
	if a.Dialect == DialectFOSSology { // its client's own vars are taken besides
		return
	}
	for _, name := range names {
		takes := func(pattern string) bool { ok, _ := path.Match(pattern, name); return ok }
		if !slices.ContainsFunc(a.Vars, takes) {
			r.problem(n, "write vars: "+list(append(slices.Clone(a.Vars), name)),
				"%s goes by var %s, which %s.vars does not take", template, name, at)
		}
	}
}

// checkLevels compares the levels of agents' locks with those that there are.
func (r *reader) checkLevels(c *Config, agents node) {
	for _, a := range c.Agents {
		if _, err := lock.ParseTemplates(a.Locks, c.Policy.Levels); err != nil {
			r.problem(agents, "", "agent %s: %s", a.Type, err)
		}
	}
}
