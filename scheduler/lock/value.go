package lock

import (
	"cmp"
	"slices"
)

// Kind is what a job wants at a level, in the seven words of Ganeti
// design-predictive-queue. The order is that of its merge: of two kinds the greater counts.
type Kind uint8

const (
	KindNone Kind = iota
	KindShared
	KindUnknownShared
	KindAllShared
	KindExclusive
	KindUnknownExclusive
	KindAllExclusive
	kinds = iota // how many there are
)

var kindNames = [kinds]string{"None", "Shared", "UnknownShared", "AllShared", "Exclusive", "UnknownExclusive", "AllExclusive"}

func (k Kind) String() string { return kindNames[k] }

// kindOf is the kind of one want.
func kindOf(s Scope, m Mode) Kind {
	k := [...]Kind{Named: KindShared, Unknown: KindUnknownShared, All: KindAllShared}[s]
	if m == Exclusive {
		k += KindExclusive - KindShared
	}
	return k
}

// NameMode is a name and how it is wanted.
type NameMode struct {
	Name string
	Mode Mode
}

// Value is all that a job wants at one level. It keeps both modes, so that a
// merge forgets nothing; in Ganeti Shared{a} merged with Exclusive{b} is
// Exclusive{b}, and a is forgotten. The zero Value is none.
type Value struct {
	Names   []NameMode // by name, each once
	All     Mode       // of *
	Unknown Mode       // of ?
}

// Kind is the greatest of the kinds that the value is made of.
func (v Value) Kind() Kind {
	greatest := KindNone
	for k := range Kind(kinds) {
		if v.kinds()&(1<<k) != 0 {
			greatest = k
		}
	}
	return greatest
}

// kindSet is a set of kinds, a bit for each.
type kindSet uint8

// kinds are those that the value is made of; of nothing it is None.
func (v Value) kinds() kindSet {
	var set kindSet
	for _, n := range v.Names {
		set |= 1 << kindOf(Named, n.Mode)
	}
	if v.All != 0 {
		set |= 1 << kindOf(All, v.All)
	}
	if v.Unknown != 0 {
		set |= 1 << kindOf(Unknown, v.Unknown)
	}
	if set == 0 {
		return 1 << KindNone
	}
	return set
}

// merge keeps of each name, of * and of ? the stronger mode.
func (v Value) merge(o Value) Value {
	merged := Value{All: max(v.All, o.All), Unknown: max(v.Unknown, o.Unknown)}
	a, b := v.Names, o.Names
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].Name < b[0].Name:
			merged.Names, a = append(merged.Names, a[0]), a[1:]
		case len(a) == 0 || b[0].Name < a[0].Name:
			merged.Names, b = append(merged.Names, b[0]), b[1:]
		default:
			merged.Names = append(merged.Names, NameMode{a[0].Name, max(a[0].Mode, b[0].Mode)})
			a, b = a[1:], b[1:]
		}
	}
	return merged
}

// LevelValue is what is wanted at a level.
type LevelValue struct {
	Level string
	Value
}

// Set is everything that a job wants. It is made by NewSet, ParseAll, Resolve
// and Merge, is never changed, and may be shared. The zero Set is no lock at all.
type Set struct {
	Big    bool
	Levels []LevelValue // by level, each once, none of them empty
}

// NewSet merges wants.
func NewSet(wants ...Want) Set {
	var s Set
	sorted := slices.Clone(wants)
	slices.SortFunc(sorted, func(a, b Want) int {
		return cmp.Or(cmp.Compare(a.Level, b.Level), cmp.Compare(a.Name, b.Name))
	})
	for _, w := range sorted {
		if w.Big {
			s.Big = true
			continue
		}
		if w.Mode == 0 {
			continue
		}
		if n := len(s.Levels); n == 0 || s.Levels[n-1].Level != w.Level {
			s.Levels = append(s.Levels, LevelValue{Level: w.Level})
		}
		s.Levels[len(s.Levels)-1].add(w)
	}
	return s
}

// add puts a want to those before it; names come in order.
func (v *LevelValue) add(w Want) {
	switch n := len(v.Names); {
	case w.Scope == All:
		v.All = max(v.All, w.Mode)
	case w.Scope == Unknown:
		v.Unknown = max(v.Unknown, w.Mode)
	case n > 0 && v.Names[n-1].Name == w.Name:
		v.Names[n-1].Mode = max(v.Names[n-1].Mode, w.Mode)
	default:
		v.Names = append(v.Names, NameMode{w.Name, w.Mode})
	}
}

// Merge is what a job wants that wants both. It is commutative, associative and
// idempotent.
func (s Set) Merge(o Set) Set {
	merged := Set{Big: s.Big || o.Big}
	a, b := s.Levels, o.Levels
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].Level < b[0].Level:
			merged.Levels, a = append(merged.Levels, a[0]), a[1:]
		case len(a) == 0 || b[0].Level < a[0].Level:
			merged.Levels, b = append(merged.Levels, b[0]), b[1:]
		default:
			merged.Levels = append(merged.Levels, LevelValue{a[0].Level, a[0].merge(b[0].Value)})
			a, b = a[1:], b[1:]
		}
	}
	return merged
}

// Empty reports that no lock is wanted.
func (s Set) Empty() bool { return !s.Big && len(s.Levels) == 0 }

// At is what is wanted at a level.
func (s Set) At(level string) Value {
	byLevel := func(v LevelValue, l string) int { return cmp.Compare(v.Level, l) }
	if i, ok := slices.BinarySearchFunc(s.Levels, level, byLevel); ok {
		return s.Levels[i].Value
	}
	return Value{}
}

// Wants lists the set: big, then by level *, ?, and the names in order.
func (s Set) Wants() []Want {
	var list []Want
	if s.Big {
		list = append(list, Want{Big: true})
	}
	for _, v := range s.Levels {
		if v.All != 0 {
			list = append(list, Want{Level: v.Level, Scope: All, Mode: v.All})
		}
		if v.Unknown != 0 {
			list = append(list, Want{Level: v.Level, Scope: Unknown, Mode: v.Unknown})
		}
		for _, n := range v.Names {
			list = append(list, Want{Level: v.Level, Name: n.Name, Mode: n.Mode})
		}
	}
	return list
}

// Text is the set as it is written, sorted: equal sets have equal texts, and
// ParseAll reads them back.
func (s Set) Text() []string {
	wants := s.Wants()
	texts := make([]string, len(wants))
	for i, w := range wants {
		texts[i] = w.Text()
	}
	slices.Sort(texts)
	return texts
}
