package store

import (
	"maps"
	"slices"
	"strings"

	"bellhop/scheduler/lock"
)

// Templates are the locks that agents say their jobs need, by type.
type Templates map[string][]lock.Template

// types are those whose agents say so, in order.
func (t Templates) types() []string { return slices.Sorted(maps.Keys(t)) }

// among are those of the types whose agents say so.
func (t Templates) among(types []string) []string {
	return slices.DeleteFunc(slices.Clone(types), func(name string) bool { return t[name] == nil })
}

// wanting is a job that waits, with what templates ask for.
type wanting struct {
	lock.Waiting
	args, key, runOn, submittedBy *string
	vars                          map[string]string
}

// resolved is the job with its agent's locks beside its own.
func (w wanting) resolved(all Templates) lock.Waiting {
	w.Args, w.Key, w.RunOn, w.SubmittedBy = deref(w.args), deref(w.key), deref(w.runOn), deref(w.submittedBy)
	w.Vars = w.vars
	templates := all[w.Type]
	if templates == nil {
		return w.Waiting
	}
	set, err := lock.Resolve(templates, w.lookup)
	if err != nil {
		w.Unreadable = err
		return w.Waiting
	}
	w.Locks = append(slices.Clone(w.Locks), set.Text()...)
	return w.Waiting
}

// deref makes NULL an empty text.
func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func (w wanting) lookup(name string) (string, bool) {
	of := func(s *string) (string, bool) {
		if s == nil {
			return "", false
		}
		return *s, true
	}
	switch name {
	case "args":
		return of(w.args)
	case "key":
		return of(w.key)
	}
	value, there := w.vars[strings.TrimPrefix(name, "vars.")]
	return value, there
}
