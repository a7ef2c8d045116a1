package config

import (
	"fmt"
	"reflect"
	"strings"

	"bellhop/scheduler/grammar"
	"bellhop/scheduler/workflow"
)

// fields are those of an object, each read by its kind into the field of a struct that has its name in JSON. A reader
// in own takes precedence.
func (r *reader) fields(o grammar.Object, into any, own map[string]func(node, string)) []field {
	var list []field
	struc := reflect.ValueOf(into).Elem()
	at := map[string]reflect.Value{}
	for n := range struc.NumField() {
		name, _, _ := strings.Cut(struc.Type().Field(n).Tag.Get("json"), ",")
		at[name] = struc.Field(n)
	}
	for _, f := range o.Fields {
		read := own[f.Name]
		if read == nil {
			read = r.valueOf(f, at[f.Name])
		}
		list = append(list, field{name: f.Name, required: f.Needed, read: read})
	}
	return list
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
