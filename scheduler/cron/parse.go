package cron

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // the same zones on every machine, whatever is installed there
)

// Spec is a schedule that was read.
type Spec struct {
	text                               string
	second, minute, hour, day, month   uint64 // a bit for each value
	weekday                            uint64
	anyDay, anyWeekday, passing, clock bool // clock: there are seconds
	zone                               *time.Location
}

// field is one of the places of a schedule.
type field struct {
	name       string
	least, top int
	names      []string // of the values, from the least one on
}

var (
	months   = []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}
	weekdays = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}
	fields   = []field{
		{"second", 0, 59, nil}, {"minute", 0, 59, nil}, {"hour", 0, 23, nil}, {"day", 1, 31, nil},
		{"month", 1, 12, months}, {"weekday", 0, 7, weekdays},
	}
	nicknames = map[string]string{
		"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
		"@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
	}
)

// Parse reads a schedule of five fields (minute, hour, day, month, weekday), or
// of six with seconds first, in a zone; no zone is UTC.
func Parse(text, zone string) (Spec, error) {
	s := Spec{text: strings.Join(strings.Fields(text), " ")}
	var err error
	if s.zone, err = Zone(zone); err != nil {
		return s, err
	}
	words := s.text
	if strings.HasPrefix(words, "@") {
		long, known := nicknames[strings.ToLower(words)]
		if !known {
			return s, fmt.Errorf("%q is not a valid schedule: there are @hourly, @daily, @weekly, @monthly and @yearly", words)
		}
		words = long
	}
	list := strings.Fields(words)
	switch len(list) {
	case 5:
		list = append([]string{"0"}, list...)
	case 6:
		s.clock = true
	default:
		return s, fmt.Errorf("%q has %d fields: it takes 5 (minute hour day month weekday), or 6 with seconds first",
			text, len(list))
	}
	to := []*uint64{&s.second, &s.minute, &s.hour, &s.day, &s.month, &s.weekday}
	for i, f := range fields {
		if *to[i], err = f.read(list[i]); err != nil {
			return s, err
		}
	}
	if s.weekday&(1<<7) != 0 { // Sunday has two numbers
		s.weekday = s.weekday&^(1<<7) | 1
	}
	s.passing = strings.Contains(strings.Join(list[:3], ""), "*")
	s.anyDay, s.anyWeekday = strings.ContainsAny(list[3], "*?"), strings.ContainsAny(list[5], "*?")
	if _, ever := s.Next(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)); !ever {
		return s, fmt.Errorf("%q never fires: none of these months has such a day", text)
	}
	return s, nil
}

// Zone is a time zone by its name; "" is UTC.
func Zone(name string) (*time.Location, error) {
	if strings.EqualFold(name, "local") { // each machine has its own
		return nil, fmt.Errorf("%q is not a valid time zone: name one, like Europe/Prague", name)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("%q is not a valid time zone: they are called like Europe/Prague, America/New_York, UTC", name)
	}
	return zone, nil
}

// read reads a list of ranges.
func (f field) read(text string) (set uint64, err error) {
	for _, part := range strings.Split(text, ",") {
		one, err := f.ranged(part)
		if err != nil {
			return 0, err
		}
		set |= one
	}
	return set, nil
}

// stepMost is what bellhop.cron_fault takes, too. Far more would leave the range of an int.
const stepMost = 999_999_999

// ranged reads *, 5, 1-5, */10, 10-30/5 or 10/5, which is 10-59/5.
func (f field) ranged(part string) (set uint64, err error) {
	span, steps, stepped := strings.Cut(part, "/")
	step := 1
	if stepped {
		if step, err = strconv.Atoi(steps); err != nil || step < 1 || step > stepMost {
			return 0, fmt.Errorf("%s %q: a step is a number from 1 to 999999999, as in */10", f.name, part)
		}
	}
	from, to := f.least, f.top
	if f.names != nil && f.least == 0 {
		to = 6
	}
	if span != "*" && span != "?" {
		first, last, isRange := strings.Cut(span, "-")
		if from, err = f.value(first); err != nil {
			return 0, err
		}
		switch {
		case isRange:
			if to, err = f.value(last); err != nil {
				return 0, err
			}
		case !stepped:
			to = from
		}
		if from > to {
			return 0, fmt.Errorf("%s %q: the range ends before it begins", f.name, part)
		}
	}
	for v := from; v <= to; v += step {
		set |= 1 << v
	}
	return set, nil
}

func (f field) value(text string) (int, error) {
	for i, name := range f.names {
		if strings.EqualFold(text, name) {
			return f.least + i, nil
		}
	}
	v, err := strconv.ParseUint(text, 10, 8)
	if err != nil || int(v) < f.least || int(v) > f.top {
		if f.names != nil {
			return 0, fmt.Errorf("%s %q: it is %d to %d, or %s to %s", f.name, text, f.least, f.top,
				strings.ToUpper(f.names[0]), strings.ToUpper(f.names[len(f.names)-1]))
		}
		return 0, fmt.Errorf("%s %q: it is %d to %d", f.name, text, f.least, f.top)
	}
	return int(v), nil
}

func (s Spec) String() string { return s.text }

// Zone is where its times are those of the clock on the wall.
func (s Spec) Zone() *time.Location { return s.zone }

// Words says what it means.
func (s Spec) Words() string {
	at := s.evenly()
	single := func(set uint64) bool { return bits.OnesCount64(set) == 1 }
	switch {
	case at != "":
	case single(s.hour) && single(s.minute) && single(s.second):
		at = fmt.Sprintf("at %02d:%02d", bits.TrailingZeros64(s.hour), bits.TrailingZeros64(s.minute))
		if s.clock {
			at += fmt.Sprintf(":%02d", bits.TrailingZeros64(s.second))
		}
	default:
		at = "in " + values(fields[2], s.hour) + ", " + values(fields[1], s.minute)
		if s.clock {
			at += ", " + values(fields[0], s.second)
		}
	}
	on := "every day"
	switch day, weekday := values(fields[3], s.day), values(fields[5], s.weekday); {
	case s.anyDay && s.anyWeekday && every(fields[3], s.day) && every(fields[5], s.weekday):
	case s.anyWeekday && every(fields[5], s.weekday):
		on = "on " + day
	case s.anyDay && every(fields[3], s.day):
		on = "on " + weekday
	case s.anyDay || s.anyWeekday:
		on = "on " + day + " if it is " + weekday
	default:
		on = "on " + day + ", and on " + weekday
	}
	if !every(fields[4], s.month) {
		on += ", " + values(fields[4], s.month)
	}
	if s.evenly() != "" && on == "every day" {
		return at + "; " + s.zone.String()
	}
	return at + "; " + on + "; " + s.zone.String()
}

// evenly says the minutes of every hour where they are three or more at even distances; empty: they are not.
func (s Spec) evenly() string {
	n := bits.OnesCount64(s.minute)
	if n < 3 || 60%n != 0 || s.clock || !every(fields[2], s.hour) {
		return ""
	}
	step := 60 / n
	for m := 0; m < 60; m += step {
		if s.minute&(1<<m) == 0 {
			return ""
		}
	}
	if step == 1 {
		return "every minute"
	}
	return fmt.Sprintf("every %d minutes", step)
}

func every(f field, set uint64) bool {
	n := f.top - f.least + 1
	if f.names != nil && f.least == 0 {
		n = 7
	}
	return bits.OnesCount64(set) == n
}

// values are those of a field in words: every minute, minute 0, 15.
func values(f field, set uint64) string {
	if every(f, set) {
		return "every " + f.name
	}
	var list []string
	for v := f.least; v <= f.top; v++ {
		if set&(1<<v) == 0 {
			continue
		}
		text := strconv.Itoa(v)
		if f.names != nil {
			text = strings.ToUpper(f.names[v-f.least])
		}
		list = append(list, text)
	}
	return f.name + " " + strings.Join(list, ", ")
}
