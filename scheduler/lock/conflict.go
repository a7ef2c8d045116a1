package lock

import "fmt"

// Conflict is why two jobs may not run at the same time: what one wants, and
// what the other has. The zero Conflict is none.
type Conflict struct {
	Wants Want
	Holds Want
}

func (c Conflict) String() string {
	return fmt.Sprintf("%s is wanted, %s is held", c.Wants.Text(), c.Holds.Text())
}

// clash reports that two modes of one lock do not go together.
func clash(a, b Mode) bool { return a != 0 && b != 0 && max(a, b) == Exclusive }

// Conflicts reports whether what is known forbids that two jobs run at the same
// time, and the first reason. An exclusive name clashes with that name in any
// mode; * with every name and every * of its level likewise. What is unknown (?)
// never forbids. big clashes with every job that has a lock, an unknown one too,
// and with no job that has none. It is symmetric.
func Conflicts(a, b Set) (bool, Conflict) {
	if (a.Big || b.Big) && !a.Empty() && !b.Empty() {
		return true, Conflict{one(a, b.Big), one(b, a.Big)}
	}
	for la, lb := a.Levels, b.Levels; len(la) > 0 && len(lb) > 0; {
		switch {
		case la[0].Level < lb[0].Level:
			la = la[1:]
		case lb[0].Level < la[0].Level:
			lb = lb[1:]
		default:
			if is, c := la[0].clashes(lb[0]); is {
				return true, c
			}
			la, lb = la[1:], lb[1:]
		}
	}
	return false, Conflict{}
}

// one is the big lock, or, beside the big lock of another job, any lock.
func one(s Set, other bool) Want {
	if s.Big || !other {
		return Want{Big: true}
	}
	return s.Wants()[0]
}

func (v LevelValue) clashes(o LevelValue) (bool, Conflict) {
	all := func(m Mode) Want { return Want{Level: v.Level, Scope: All, Mode: m} }
	named := func(n NameMode) Want { return Want{Level: v.Level, Name: n.Name, Mode: n.Mode} }
	if clash(v.All, o.All) {
		return true, Conflict{all(v.All), all(o.All)}
	}
	if v.All != 0 {
		for _, n := range o.Names {
			if clash(v.All, n.Mode) {
				return true, Conflict{all(v.All), named(n)}
			}
		}
	}
	if o.All != 0 {
		for _, n := range v.Names {
			if clash(n.Mode, o.All) {
				return true, Conflict{named(n), all(o.All)}
			}
		}
	}
	for a, b := v.Names, o.Names; len(a) > 0 && len(b) > 0; {
		switch {
		case a[0].Name < b[0].Name:
			a = a[1:]
		case b[0].Name < a[0].Name:
			b = b[1:]
		case clash(a[0].Mode, b[0].Mode):
			return true, Conflict{named(a[0]), named(b[0])}
		default:
			a, b = a[1:], b[1:]
		}
	}
	return false, Conflict{}
}
