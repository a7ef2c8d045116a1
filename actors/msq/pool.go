package msq

import (
	"slices"

	"bellhop/scheduler"
)

// itemPool is items that want a child, by the place that they name; most name none.
type itemPool struct {
	any []scheduler.Line
	at  map[string][]scheduler.Line // nil: none names a place
	n   int
}

// add puts an item behind the others of its place.
func (p *itemPool) add(l scheduler.Line) {
	p.n++
	if l.RunOn == "" {
		p.any = append(p.any, l)
		return
	}
	if p.at == nil {
		p.at = map[string][]scheduler.Line{}
	}
	p.at[l.RunOn] = append(p.at[l.RunOn], l)
}

// next takes the first item of the first of the places that has one, else the
// first that names none.
func (p *itemPool) next(places []string) (l scheduler.Line, ok bool) {
	for _, name := range places {
		if list := p.at[name]; len(list) > 0 {
			p.n--
			if p.at[name] = list[1:]; len(list) == 1 {
				delete(p.at, name)
			}
			return list[0], true
		}
	}
	if len(p.any) == 0 {
		return l, false
	}
	l = p.any[0]
	p.n--
	if p.any = p.any[1:]; len(p.any) == 0 {
		p.any = nil // let go of what the slice has left behind
	}
	return l, true
}

// take empties a place.
func (p *itemPool) take(name string) []scheduler.Line {
	list := p.at[name]
	p.n -= len(list)
	delete(p.at, name)
	return list
}

// each calls f with every item.
func (p *itemPool) each(f func(scheduler.Line)) {
	for _, l := range p.any {
		f(l)
	}
	for _, list := range p.at {
		for _, l := range list {
			f(l)
		}
	}
}

// count adds how many wait at each place.
func (p *itemPool) count(into map[string]int) map[string]int {
	for name, list := range p.at {
		if into == nil {
			into = map[string]int{}
		}
		into[name] += len(list)
	}
	return into
}

// stuck is how many items no more than so many of each place make: what waits
// for one place must not keep the items of others from being read.
func (p *itemPool) stuck(most int) int {
	n := len(p.any)
	for _, list := range p.at {
		n += min(most, len(list))
	}
	return n
}

// bytes is about how large the items are: those of one query are much alike,
// so the first and the last tell enough.
func (p *itemPool) bytes() int {
	size := func(list []scheduler.Line) int {
		n := len(list)
		if n == 0 {
			return 0
		}
		return n * max(len(list[0].Args), len(list[n-1].Args))
	}
	total := size(p.any)
	for _, list := range p.at {
		total += size(list)
	}
	return total
}

// find looks for an item.
func (p *itemPool) find(item int64) (l scheduler.Line, there bool) {
	p.each(func(o scheduler.Line) {
		if o.Item == item {
			l, there = o, true
		}
	})
	return l, there
}

// remove takes an item out.
func (p *itemPool) remove(l scheduler.Line) {
	list := p.any
	if l.RunOn != "" {
		list = p.at[l.RunOn]
	}
	i := slices.IndexFunc(list, func(o scheduler.Line) bool { return o.Item == l.Item })
	if i < 0 {
		return
	}
	p.n--
	list = slices.Delete(list, i, i+1)
	switch {
	case l.RunOn == "":
		p.any = list
	case len(list) == 0:
		delete(p.at, l.RunOn)
	default:
		p.at[l.RunOn] = list
	}
}
