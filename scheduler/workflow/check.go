package workflow

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"bellhop/scheduler/grammar"
	"bellhop/scheduler/lock"
)

// Fault is one thing that is wrong with a definition, and where: in a step
// (from 0; -1: outside of the steps), in a field, at a place of its list.
type Fault struct {
	Step  int
	Field string // empty: the step, or the definition, as a whole
	Index int    // in the field's list; -1: all of it
	Text  string
	Hint  string
}

var (
	parameter = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	// RunStates are how runs end.
	RunStates = grammar.Sensor.Field("when").Choices
)

// BuiltIn are the parameters that every run has.
var BuiltIn = []string{"WORKFLOW", "RUN", "EVENT", "SLOT", "SLOT_DATE"}

// check gathers faults.
type check struct {
	Definition
	first  map[string]int // steps by name, of several with one name the first
	faults []Fault
}

func (c *check) fault(step int, field string, index int, hint, format string, args ...any) {
	c.faults = append(c.faults, Fault{step, field, index, fmt.Sprintf(format, args...), hint})
}

// Check finds all that is wrong with a definition.
func Check(d Definition) []Fault {
	first := map[string]int{}
	c := &check{Definition: d, first: first}
	c.values(grammar.Workflow, -1, "", d)
	c.sensor()
	for _, p := range slices.Sorted(maps.Keys(d.Parameters)) {
		switch {
		case !parameter.MatchString(p):
			c.fault(-1, "parameters", -1, "letters, digits and _ only", "%q cannot be the name of a parameter", p)
		case slices.Contains(BuiltIn, p):
			c.fault(-1, "parameters", -1, "give it another name", "every run has a parameter %s of its own", p)
		}
	}
	for i, s := range d.Steps {
		if s.Name == "" {
			continue // the reader of the file reports it
		}
		if at, twice := first[s.Name]; twice {
			c.fault(i, "name", -1, "", "there is a step %q already, the %s", s.Name, ordinal(at))
		} else {
			first[s.Name] = i
		}
	}
	for i := range d.Steps {
		c.step(i, first)
	}
	if _, cycle := order(d.Steps); cycle != nil {
		if n := len(cycle); n > 20 {
			cycle = append(cycle[:20], fmt.Sprintf("… (%d in all)", n))
		}
		c.fault(first[cycle[0]], "after", -1, "leave out one of these", "these steps would wait for each other for ever: %s",
			strings.Join(append(cycle, cycle[0]), " after "))
	}
	return c.faults
}

func ordinal(i int) string {
	n := i + 1
	switch {
	case n%100 >= 11 && n%100 <= 13:
	case n%10 == 1:
		return fmt.Sprintf("%dst", n)
	case n%10 == 2:
		return fmt.Sprintf("%dnd", n)
	case n%10 == 3:
		return fmt.Sprintf("%drd", n)
	}
	return fmt.Sprintf("%dth", n)
}

func (c *check) step(i int, first map[string]int) {
	s := c.Steps[i]
	c.values(grammar.Step, i, "", s)
	for k, needs := range s.After {
		switch _, there := first[needs]; {
		case needs == s.Name:
			c.fault(i, "after", k, "leave it out", "step %q cannot come after itself", s.Name)
		case !there:
			c.fault(i, "after", k, "a step is named by its name", "there is no step %q", needs)
		case slices.Contains(s.After[:k], needs):
			c.fault(i, "after", k, "leave it out", "%q is named twice", needs)
		}
	}
	if s.Type == "command" || s.Type == "dummy" {
		c.fault(i, "type", -1, "", "a step cannot be of type %s, which no agent runs", s.Type)
	}
	if s.Args != nil && s.MSQ != nil {
		c.fault(i, "msq", -1, "", "a step has args or msq, and not both")
	}
	if s.MSQ != nil && strings.TrimSpace(*s.MSQ) == "" {
		c.fault(i, "msq", -1, "leave it out", "the query is empty")
	}
	if s.Args != nil && strings.ContainsAny(*s.Args, "\n\r") {
		c.fault(i, "args", -1, "args are one line", "there is a line break in the args")
	}
	c.templates(i, "args", text(s.Args))
	c.templates(i, "run_on", s.RunOn)
	c.templates(i, "share", s.Share)
	for k, l := range s.Locks {
		c.templates(i, "locks", l)
		c.lock(i, k, l)
	}
	for _, v := range s.Vars {
		c.templates(i, "vars", v)
	}
}

// lock checks a lock as far as its text is known before a run is made: where a parameter stands for
// its level, or for all of it, nothing is; where one stands for its mode, that may be right.
func (c *check) lock(step, index int, s string) {
	if level, _, _ := strings.Cut(s, ":"); strings.Contains(level, "${") {
		return
	}
	var bad *lock.TextError
	if _, err := lock.Parse(modeParameter.ReplaceAllString(s, "=exclusive")); errors.As(err, &bad) {
		c.fault(step, "locks", index, bad.Next, "lock %q, character %d: %s", bad.Text, bad.At, bad.Why)
	}
}

var modeParameter = regexp.MustCompile(`=\$\{[A-Za-z_][A-Za-z0-9_]*\}$`)

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// templates looks for parameters that there are not.
func (c *check) templates(step int, field, s string) {
	for _, part := range Parts(s) {
		if part.Open {
			c.fault(step, field, -1, "write ${NAME}, or $${ where the text is to hold ${", "${ without a name and a } behind it: %q", part.Text)
			continue
		}
		if part.Step != "" {
			c.result(step, field, part)
		}
		_, known := c.Parameters[part.Parameter]
		if part.Parameter != "" && !known && !slices.Contains(BuiltIn, part.Parameter) {
			c.fault(step, field, -1, "name it under parameters, or write $${"+part.Parameter+"} if the text is to hold that",
				"there is no parameter %s", part.Parameter)
		}
	}
}

// Part is a piece of a template.
type Part struct {
	Text      string
	Parameter string // it stands for the value of this one
	Step      string // it stands for the result of this one, or for a field of that
	Open      bool   // a ${ that is not closed, or has no name in it
}

// Parts takes a template apart: ${NAME} stands for a parameter, ${steps.NAME.result} for a result, $${ for ${. The
// database fills them in (bellhop.filled), by the same rule.
func Parts(s string) (list []Part) {
	for s != "" {
		i := strings.Index(s, "${")
		switch {
		case i < 0:
			return append(list, Part{Text: s})
		case i > 0 && s[i-1] == '$':
			list = append(list, Part{Text: s[:i-1] + "${"})
			s = s[i+2:]
			continue
		case i > 0:
			list = append(list, Part{Text: s[:i]})
		}
		s = s[i:]
		end := strings.Index(s, "}")
		if end > 0 && result.MatchString(s[2:end]) {
			list, s = append(list, Part{Text: s[:end+1], Step: stepOf(s[2:end])}), s[end+1:]
			continue
		}
		if end < 0 || !parameter.MatchString(s[2:end]) {
			list, s = append(list, Part{Text: s[:2], Open: true}), s[2:]
			continue
		}
		list, s = append(list, Part{Text: s[:end+1], Parameter: s[2:end]}), s[end+1:]
	}
	return list
}
