package workflow

import (
	"reflect"
	"slices"

	"bellhop/scheduler/grammar"
)

// values holds each value of a part of the definition against its field's bounds in the grammar. before stands before
// the field's name: "sensor." or nothing.
func (c *check) values(o grammar.Object, step int, before string, part any) {
	for _, f := range o.Fields {
		v, given := valueOf(part, f.Name)
		if !given {
			continue
		}
		fault := func(index int, wrong, hint string) {
			if wrong != "" {
				c.fault(step, before+f.Name, index, hint, "%s", wrong)
			}
		}
		switch v.Kind() {
		case reflect.String:
			wrong, hint := f.Text(v.String())
			fault(-1, wrong, hint)
		case reflect.Int:
			wrong, hint := f.Number(int(v.Int()))
			fault(-1, wrong, hint)
		case reflect.Slice:
			if f.Choices == nil {
				continue
			}
			for i, text := range v.Interface().([]string) {
				wrong, hint := f.Text(text)
				fault(i, wrong, hint)
			}
		}
	}
}

// valueOf is the value of a field of a part of a definition, by its name in JSON; given is false for an empty one.
func valueOf(part any, name string) (v reflect.Value, given bool) {
	v = reflect.Indirect(grammar.ByName(reflect.ValueOf(part))[name])
	return v, v.IsValid() && !v.IsZero() && !(v.Kind() == reflect.Slice && v.Len() == 0)
}

// kinds are the kinds that a sensor has: one, if it is right.
func (s *Sensor) kinds() (list []string) {
	for _, kind := range Kinds {
		if _, given := valueOf(*s, kind); given {
			list = append(list, kind)
		}
	}
	return list
}

// Kinds are the words under which sensors stand in a definition.
var Kinds = func() (list []string) {
	for _, f := range grammar.Sensor.Fields {
		if slices.Equal(f.Kinds, []string{f.Name}) {
			list = append(list, f.Name)
		}
	}
	return list
}()
