package look

import (
	"maps"
	"time"

	"bellhop/scheduler"
)

// paceOver is the time over which rates are taken. Instances tell of their children
// every few seconds: over less than that a child's count leaps.
const paceOver = 10 * time.Second

// pace keeps how many lines were finished, by type, at each look of the last ten seconds.
type pace struct {
	had  map[paceChild]int64 // of each child, at the last look
	done map[scheduler.TypeName]int64
	past []paceLook // the oldest first
}

type paceChild struct {
	instance   int64
	host, name string
}

type paceLook struct {
	at   time.Time
	done map[scheduler.TypeName]int64
}

// took takes a look, and gives it the rates.
func (p *pace) took(v *topView) {
	first := p.had == nil
	had := map[paceChild]int64{}
	done := maps.Clone(p.done)
	if done == nil {
		done = map[scheduler.TypeName]int64{}
	}
	for _, c := range v.Children {
		child := paceChild{c.Instance, c.Host, string(c.Name)}
		had[child] = c.Done
		// One that has begun anew counts from 0; what was done before the first look is
		// not known.
		if before := p.had[child]; !first {
			if c.Done < before {
				before = 0
			}
			done[c.Type] += c.Done - before
		}
	}
	p.had, p.done = had, done
	for len(p.past) > 1 && v.At.Sub(p.past[0].at) > paceOver {
		p.past = p.past[1:]
	}
	if len(p.past) > 0 && v.At.After(p.past[0].at) {
		old := p.past[0]
		v.Rates = map[scheduler.TypeName]float64{}
		for t, n := range done {
			if more := n - old.done[t]; more > 0 {
				v.Rates[t] = float64(more) / v.At.Sub(old.at).Seconds()
			}
		}
	}
	p.past = append(p.past, paceLook{v.At, done})
}
