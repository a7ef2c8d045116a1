package grammar

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// refusal is a rule of the queue about one field: the value is within the bounds that the field states.
type refusal struct {
	field Field
	name  string // of the constraint, behind jobqueue_
	test  string // what SQL demands of a row called new; NULL passes
	fails string // the same denied, as it costs least
	says  string // the demand, in words
	hint  string
}

// Longest bounds a duration; longest is the same for PostgreSQL, whose years have 360 days.
const (
	Longest = 864_000 * time.Hour
	longest = "100 years"
)

// ruleNames are the names of rules that are not called as their field is.
var ruleNames = map[string]string{
	"type": "type_named", "key": "key_not_empty", "run_on": "run_on_not_empty", "priority": "priority_range",
	"repeat": "repeat_known", "timeout": "timeout_positive", "on_failure": "on_failure_known",
}

// refusal is the rule about the field; ok is false for a field without bounds, and for one that is not a column.
func (f Field) refusal() (r refusal, ok bool) {
	column, name := "new."+f.Name, "{"+f.Name+"}"
	r.field, r.name = f, f.Name
	if own := ruleNames[f.Name]; own != "" {
		r.name = own
	}
	text := f.Kind == Word || f.Kind == Text
	switch {
	case f.Call:
		return r, false
	case text && f.Choices != nil:
		list := "('" + strings.Join(f.Choices, "', '") + "')"
		r.test, r.fails = column+" in "+list, column+" not in "+list
		r.says, r.hint = name+" is "+either(f.Choices), "Write "+either(f.Choices)+"."
	case text && f.Most+f.MostBytes > 0:
		f.size(&r)
	case f.Kind == Long:
		// A longer one, or infinity, leads to times and numbers that no statement can have.
		r.test = column + " > interval '0' and " + column + " <= interval '" + longest + "'"
		r.fails = column + " <= interval '0' or " + column + " > interval '" + longest + "'"
		r.says = name + " must be longer than 0, and at most " + longest
		r.hint = "Write an interval such as '90 s', at most " + longest + "; NULL is none."
	case (f.Kind == Whole || f.Kind == Count) && f.Most > 0:
		between := fmt.Sprintf("between %d and %d", f.Least, f.Most)
		r.test, r.fails = column+" "+between, column+" not "+between
		r.says = fmt.Sprintf("%s goes from %d (first) to %d (last)", name, f.Least, f.Most)
		r.hint = fmt.Sprintf("Write a number from %d (first) to %d (last).", f.Least, f.Most)
	case f.Kind == Count && f.Least > 0:
		r.test, r.fails = fmt.Sprintf("%s >= %d", column, f.Least), fmt.Sprintf("%s < %d", column, f.Least)
		r.says, r.hint = fmt.Sprintf("%s is %d or more", name, f.Least), fmt.Sprintf("Write %d or more.", f.Least)
	default:
		return r, false
	}
	return r, true
}

// size makes the rule about the length of a text, which is not empty either.
func (f Field) size(r *refusal) {
	column := "new." + f.Name
	tests, fails, sizes := []string{column + " <> ''"}, []string{column + " = ''"}, []string(nil)
	for _, most := range []struct {
		of, unit string
		n        int
	}{{"length", "characters", f.Most}, {"octet_length", "bytes", f.MostBytes}} {
		if most.n > 0 {
			tests = append(tests, fmt.Sprintf("%s(%s) <= %d", most.of, column, most.n))
			fails = append(fails, fmt.Sprintf("%s(%s) > %d", most.of, column, most.n))
			sizes = append(sizes, fmt.Sprintf("%d %s", most.n, most.unit))
		}
	}
	r.test, r.fails = strings.Join(tests, " and "), strings.Join(fails, " or ")
	r.says = "{" + f.Name + "} is empty, or longer than " + strings.Join(sizes, " or ")
	r.hint = "Write 1 to " + strings.Join(sizes, ", at most ")
	if !f.Needed {
		r.hint += "; NULL is " + cmp.Or(f.Default, "none")
	}
	r.hint += "."
}

// refusals are the rules about single fields, in the order of a submission.
func refusals() (list []refusal) {
	for _, f := range Submission.Fields {
		if r, ok := f.refusal(); ok {
			list = append(list, r)
		}
	}
	return list
}

// Bounded are the fields of a submission about which there is a rule of the queue, each by the name of its constraint.
func Bounded() map[string]Field {
	all := map[string]Field{}
	for _, r := range refusals() {
		all["jobqueue_"+r.name] = r.field
	}
	return all
}

var (
	ruleLine = regexp.MustCompile(`^ +when .*'(\w+)'( --.*)?$`)
	hintLine = regexp.MustCompile(`^ +when '(\w+)' then `)
	columns  = regexp.MustCompile(`(after update of )([\w, ]+)( on bellhop.jobqueue)`)
)

// Refuse is triggers/refuse.sql with the rules of single fields made again. Rules across columns, and those of one
// column that no bound states, stand there by hand.
func Refuse(file string) string {
	rules := refusals()
	file = merged(file, "  rule := case\n", "  end;\n", ruleLine, rules, func(r refusal) string {
		return fmt.Sprintf("    when not (%s) then '%s'", r.test, r.name)
	})
	file = merged(file, "    hint = case rule\n", "    end;\n", hintLine, rules, func(r refusal) string {
		return fmt.Sprintf("      when '%s' then %s", r.name, quote(r.hint))
	})
	head, rest, _ := strings.Cut(file, "  for each row when (\n")
	_, rare, _ := strings.Cut(rest, "    -- by hand\n")
	byHand, tail, _ := strings.Cut(rare, "  execute function")
	var made []string
	for _, r := range rules {
		if !strings.Contains(byHand, "new."+r.field.Name+" is not null") {
			made = append(made, r.fails)
		}
	}
	file = head + "  for each row when (\n    " + strings.Join(made, "\n    or ") +
		"\n    -- by hand\n" + byHand + "  execute function" + tail
	return columns.ReplaceAllStringFunc(file, func(line string) string {
		part := columns.FindStringSubmatch(line)
		list := strings.Split(part[2], ", ")
		for _, r := range rules {
			if !slices.Contains(list, r.field.Name) {
				list = append(list, r.field.Name)
			}
		}
		return part[1] + strings.Join(list, ", ") + part[3]
	})
}

// merged puts the lines of rules among those by hand between two lines of a file, sorted by the rules' names: a row
// with several faults is refused for the first.
func merged(file, begin, end string, name *regexp.Regexp, rules []refusal, write func(refusal) string) string {
	head, rest, _ := strings.Cut(file, begin)
	body, tail, _ := strings.Cut(rest, end)
	lines := map[string]string{}
	for line := range strings.Lines(body) {
		if m := name.FindStringSubmatch(strings.TrimSuffix(line, "\n")); m != nil {
			lines[m[1]] = line
		} else {
			panic("grammar: triggers/refuse.sql has a line that no rule is: " + line)
		}
	}
	for _, r := range rules {
		lines[r.name] = write(r) + "\n"
	}
	var all strings.Builder
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		all.WriteString(lines[name])
	}
	return head + begin + all.String() + end + tail
}
