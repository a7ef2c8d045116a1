package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bellhop/config"
	"bellhop/scheduler/words"
)

// Priority is a flag: a number from -20, which goes first, to 19, or a word for one.
type Priority int

func (p *Priority) String() string { return strconv.Itoa(int(*p)) }

func (p *Priority) Type() string { return "priority" }

func (p *Priority) Set(text string) error {
	n, err := words.ParsePriority(text)
	*p = Priority(n)
	return err
}

// wanted says what a flag of a type takes, where its own error is not made for people.
var wanted = map[string]string{
	"int": "a whole number, such as 4", "int32": "a whole number, such as 4", "int64": "a whole number, such as 4",
	"uint64": "a whole number from 0 on, such as 4", "duration": "a time span, such as 90s, 10m or 2h",
	"bool": "true or false", "stringToInt": "a name and a whole number, such as mail=4",
	"float64": "a number, such as 0.5",
}

// FlagError says what is wrong with the flags of a command, and what to type next.
func FlagError(cmd *cobra.Command, err error) error {
	why, next := err.Error(), cmd.CommandPath()+" --help"
	var value *pflag.InvalidValueError
	var unknown *pflag.NotExistError
	var missing *pflag.ValueRequiredError
	switch {
	case errors.As(err, &value):
		f := value.GetFlag()
		why = fmt.Sprintf("--%s %q: %v", f.Name, value.GetValue(), value.Unwrap())
		if want, ours := wanted[f.Value.Type()]; ours && errors.Is(err, strconv.ErrRange) {
			why = fmt.Sprintf("--%s %q: the number is too large", f.Name, value.GetValue())
		} else if ours {
			why = fmt.Sprintf("--%s %q: want %s", f.Name, value.GetValue(), want)
		}
	case errors.As(err, &missing):
		f := missing.GetFlag()
		name, _ := pflag.UnquoteUsage(f)
		why = fmt.Sprintf("--%s needs a value: --%s %s", f.Name, f.Name, strings.ToUpper(name))
	case errors.As(err, &unknown):
		next += "   (-- in front of an argument that begins with a dash)"
		if near, is := config.Nearest(unknown.GetSpecifiedName(), flagNames(cmd)); is && len(unknown.GetSpecifiedName()) > 1 {
			next = "--" + near + "   (" + cmd.CommandPath() + " --help lists all flags)"
		}
	}
	return Usage(CommandWords(cmd), why, next)
}

func flagNames(cmd *cobra.Command) (names []string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return names
}
