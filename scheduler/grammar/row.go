package grammar

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// ByName are the fields of a struct by their names in JSON.
func ByName(struc reflect.Value) map[string]reflect.Value {
	at := map[string]reflect.Value{}
	for f := range struc.Type().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		at[name] = struc.FieldByIndex(f.Index)
	}
	return at
}

// Shown is the value of a field as people read it.
type Shown struct{ Name, Says, Text string }

// Others are the fields of the object that have a value in a row, but for those that are shown elsewhere. A row without
// the field, or with a zero value, shows none.
func (o Object) Others(row any, elsewhere ...string) (list []Shown) {
	at := ByName(reflect.ValueOf(row))
	for _, f := range o.Fields {
		v := at[f.Name]
		if slices.Contains(elsewhere, f.Name) || !v.IsValid() || v.IsZero() {
			continue
		}
		text := fmt.Sprint(reflect.Indirect(v).Interface())
		if words, is := v.Interface().([]string); is {
			text = strings.Join(words, " ")
		}
		list = append(list, Shown{f.Name, f.Sentence(), text})
	}
	return list
}
