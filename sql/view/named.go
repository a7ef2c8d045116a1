package view

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"bellhop/scheduler/grammar"
)

// columnsOf are the columns of a row type, in the words of a query that calls their view j. A query says {columns}.
func columnsOf[T any]() string {
	var names []string
	for f := range reflect.TypeFor[T]().Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "-" {
			names = append(names, "j."+name)
		}
	}
	return strings.Join(names, ", ")
}

// argument is an argument of an SQL function that a field of a struct gives.
type argument struct {
	field      int
	name, kind string
	always     bool // also if the field is zero
}

// values are an argument's values by its kind; $ is the parameter. Spans of time are whole milliseconds.
var values = map[string]string{
	"": "$", "span": "$::bigint * interval '1 ms'", "in": "clock_timestamp() + $::bigint * interval '1 ms'",
}

// argumentsOf are the arguments that the fields of T give. An argument has the field's name in JSON, unless the field
// has a tag `sql` with its name and kind. A field without omitempty is always given. Of two fields in a row for one
// argument, the first that is set counts.
func argumentsOf[T any]() (list []argument) {
	for f := range reflect.TypeFor[T]().Fields() {
		name, omit, _ := strings.Cut(f.Tag.Get("json"), ",")
		a := argument{field: f.Index[0], name: name, always: omit == "" && name != "-"}
		if tag := f.Tag.Get("sql"); tag != "" {
			a.name, a.kind, _ = strings.Cut(tag, ",")
		}
		list = append(list, a)
	}
	return list
}

// named writes the arguments of v that are set as a call has them, and appends their values to args, whose parameters
// come first. Arguments that are not set are left to the function's defaults.
func named(list []argument, v any, args []any) ([]string, []any, error) {
	var texts []string
	from, last := reflect.ValueOf(v), ""
	for _, a := range list {
		field := from.Field(a.field)
		empty := field.IsZero() || field.Kind() == reflect.Slice && field.Len() == 0
		if empty && !a.always || a.name == last {
			continue
		}
		value, err := parameter(field.Interface())
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", a.name, err)
		}
		args, last = append(args, value), a.name
		texts = append(texts, a.name+" => "+strings.Replace(values[a.kind], "$", "$"+strconv.Itoa(len(args)), 1))
	}
	return texts, args, nil
}

// parameter is a value as PostgreSQL takes it, whatever the protocol.
func parameter(v any) (any, error) {
	switch v := v.(type) {
	case *time.Duration:
		return v.Milliseconds(), nil
	case *time.Time:
		return instant(v), nil
	case map[string]string:
		text, err := json.Marshal(v)
		return string(text), err
	}
	return v, nil
}

// instant is a time as PostgreSQL takes it: Never is infinity.
func instant(at *time.Time) any {
	if at != nil && at.Equal(Never) {
		return pgtype.Timestamptz{InfinityModifier: pgtype.Infinity, Valid: true}
	}
	return at
}

// Copied are the columns that CopyRow fills.
var Copied = func() (columns []string) {
	for _, a := range copiedArguments {
		columns = append(columns, a.name)
	}
	return append(columns, "own_attempts")
}()

var copiedArguments = slices.DeleteFunc(argumentsOf[Submission](), func(a argument) bool {
	return grammar.Submission.Field(a.name).Call || a.kind == "in"
})

// CopyRow is a job as a row of Copied. COPY takes NULL at its word: what has a default is said.
func (s Submission) CopyRow() ([]any, error) {
	own := s.MaxAttempts > 0
	s.MaxAttempts = max(s.MaxAttempts, 1)
	if s.OnFailure == nil {
		fail := "fail"
		s.OnFailure = &fail
	}
	row, from := make([]any, 0, len(Copied)), reflect.ValueOf(s)
	for _, a := range copiedArguments {
		switch f := from.Field(a.field); {
		case f.Kind() == reflect.String: // a name for texts would cost pgx a plan of its own
			row = append(row, f.String())
		case f.Kind() == reflect.Map && f.Len() == 0, f.Kind() == reflect.Slice && f.Len() == 0:
			row = append(row, nil)
		case f.Kind() == reflect.Map:
			text, err := json.Marshal(f.Interface())
			if err != nil {
				return nil, fmt.Errorf("encode the job's %s: %w", a.name, err)
			}
			row = append(row, json.RawMessage(text))
		default:
			value := f.Interface()
			if at, is := value.(*time.Time); is {
				value = instant(at)
			}
			row = append(row, value)
		}
	}
	if own {
		return append(row, own), nil
	}
	return append(row, nil), nil
}
