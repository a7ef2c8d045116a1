package lock

import (
	"errors"
	"maps"
	"slices"
	"strings"
)

// Templates are the locks that agents say their jobs need, by type.
type Templates map[string][]Template

// Types are those whose agents say so, in order.
func (t Templates) Types() []string { return slices.Sorted(maps.Keys(t)) }

// Among are those of the types whose agents say so.
func (t Templates) Among(types []string) []string {
	return slices.DeleteFunc(slices.Clone(types), func(name string) bool { return t[name] == nil })
}

// Columns are what templates ask for of a job. A nil one is NULL.
type Columns struct {
	Args, Key, RunOn, SubmittedBy, Share *string
	Vars                                 map[string]string
}

// sealed is how a sealed text begins (package seal): it differs from job to job, so no lock can be made of it.
const sealed = "bellhop:sealed:"

var errSealed = errors.New("the locks of its agent go by args or a var that is sealed; submit it with that var plain (--plain NAME)")

// Resolved is a job with these columns, with its agent's locks beside its own.
func (t Templates) Resolved(w Waiting, of Columns) Waiting {
	w.Args, w.Key, w.RunOn, w.SubmittedBy = deref(of.Args), deref(of.Key), deref(of.RunOn), deref(of.SubmittedBy)
	w.Vars, w.Share = of.Vars, deref(of.Share)
	templates := t[w.Type]
	if templates == nil {
		return w
	}
	set, err := Resolve(templates, of.lookup)
	if strings.Contains(strings.Join(set.Text(), " "), sealed) || err != nil && strings.Contains(err.Error(), sealed) {
		err = errSealed
	}
	if err != nil {
		w.Unreadable = err
		return w
	}
	w.Locks = append(slices.Clone(w.Locks), set.Text()...)
	return w
}

// deref makes NULL an empty text.
func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func (c Columns) lookup(name string) (string, bool) {
	of := func(s *string) (string, bool) {
		if s == nil {
			return "", false
		}
		return *s, true
	}
	switch name {
	case "args":
		return of(c.Args)
	case "key":
		return of(c.Key)
	}
	value, there := c.Vars[strings.TrimPrefix(name, "vars.")]
	return value, there
}
