package config

import (
	"fmt"
	"reflect"
	"slices"

	"bellhop/scheduler/grammar"
	"bellhop/scheduler/workflow"
)

// fields are those of an object, each read by its kind into the field of a struct that has its name in JSON. A reader
// in own takes precedence.
func (r *reader) fields(o grammar.Object, into any, own map[string]func(node, string)) []field {
	var list []field
	at := grammar.ByName(reflect.ValueOf(into).Elem())
	for _, f := range o.Fields {
		read := own[f.Name]
		if read == nil {
			read = r.valueOf(f, at[f.Name])
		}
		list = append(list, field{name: f.Name, required: f.Needed, read: read})
	}
	return list
}

// pairsOf are the fields of an object that have a value, as a file has them; always names those that stand there
// without one, too.
func pairsOf(o grammar.Object, v any, always ...string) pairs {
	m, at := pairs{}, grammar.ByName(reflect.ValueOf(v))
	for _, f := range o.Fields {
		value := at[f.Name]
		empty := value.IsZero() || (value.Kind() == reflect.Slice || value.Kind() == reflect.Map) && value.Len() == 0
		m.add(f.Name, value.Interface(), f.Needed || !empty || slices.Contains(always, f.Name))
	}
	return m
}

// valueOf reads one field. A field that the struct lacks, or has with another type, is a programming error, and panics.
func (r *reader) valueOf(f grammar.Field, to reflect.Value) func(node, string) {
	if to.Kind() == reflect.String { // a type of its own, such as workflow.Queue
		return r.word(to.Addr().Convert(reflect.TypeFor[*string]()).Interface().(*string))
	}
	switch to := to.Addr().Interface().(type) {
	case *bool:
		return r.flag(to)
	case *workflow.Duration:
		return r.long(to)
	case *int:
		if f.Kind == grammar.Whole {
			return r.signed(to)
		}
		return r.count(to)
	case *[]string:
		if f.One {
			return r.oneOrMore(to, f.Example)
		}
		return r.words(to, f.Example, nil)
	case *map[string]string:
		return r.pairs(to, f.Example)
	}
	panic(fmt.Sprintf("config: %s cannot be read into a %s", f.Name, to.Type()))
}
