package cli

import (
	"fmt"
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
