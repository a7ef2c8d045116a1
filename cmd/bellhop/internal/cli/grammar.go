package cli

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"bellhop/scheduler/grammar"
)

// Fields are the flags of an object: their names and sentences are its own.
type Fields struct {
	Flags *pflag.FlagSet
	Of    grammar.Object
}

// Commas is a list of words that may also stand in one flag, with commas between them.
type Commas []string

// Var makes a field a flag whose value goes to a variable. A field that has no flag is a programming error, and panics.
func (f Fields) Var(to any, field string) {
	of := f.Of.Field(field)
	if of.Without[grammar.Command] != "" {
		panic("cli: " + field + " has no flag")
	}
	name, help := of.In(grammar.Command), of.Help()
	switch to := to.(type) {
	case *string:
		f.Flags.StringVar(to, name, "", help)
	case *Commas:
		f.Flags.StringSliceVar((*[]string)(to), name, nil, help)
	case *[]string:
		f.Flags.StringArrayVar(to, name, nil, help)
	case *bool:
		f.Flags.BoolVar(to, name, false, help)
	case *int:
		f.Flags.IntVar(to, name, 0, help)
	case *int32:
		f.Flags.Int32Var(to, name, 0, help)
	case *time.Duration:
		f.Flags.DurationVar(to, name, 0, help)
	case pflag.Value:
		f.Flags.Var(to, name, help)
	default:
		panic(fmt.Sprintf("cli: a flag cannot be a %T", to))
	}
}

// Into makes flags of all fields of the object that a struct has under their Go names, but for those in except. The
// struct's fields stay as they are until their flags are set.
func (f Fields) Into(to any, except ...string) {
	target := reflect.ValueOf(to).Elem()
	for _, of := range f.Of.Fields {
		field := target.FieldByName(of.In(grammar.Go))
		if of.Without[grammar.Command] != "" || slices.Contains(except, of.Name) || !field.IsValid() {
			continue
		}
		switch at := field.Addr().Interface().(type) {
		case **string:
			f.Var(&optional[string]{at, "string", func(s string) (string, error) { return s, nil }}, of.Name)
		case **time.Duration:
			f.Var(&optional[time.Duration]{at, "duration", time.ParseDuration}, of.Name)
		case **int:
			f.Var(&optional[int]{at, "int", func(s string) (int, error) {
				n, err := strconv.ParseInt(s, 0, strconv.IntSize)
				return int(n), err
			}}, of.Name)
		default:
			f.Var(at, of.Name)
		}
	}
}

// optional is a flag whose value is nil until it is set.
type optional[T any] struct {
	to    **T
	kind  string
	parse func(string) (T, error)
}

func (o *optional[T]) Set(text string) error {
	v, err := o.parse(text)
	if err == nil {
		*o.to = &v
	}
	return err
}

func (o *optional[T]) Type() string { return o.kind }

func (o *optional[T]) String() string {
	if o.to == nil || *o.to == nil {
		return ""
	}
	return fmt.Sprint(**o.to)
}
