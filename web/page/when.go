package page

import (
	"cmp"
	"net/url"
	"strings"
	"time"

	"bellhop/scheduler/words"
	"bellhop/sql/view"
)

// timeFilter is since when and until when, as typed: the address keeps the words.
type timeFilter struct {
	Since, Until string
	Wrong        string // why a word is no time; it lets everything through then
	after        *time.Time
	before       *time.Time
}

// timesOf reads the times of a query or a form.
func timesOf(q url.Values) (f timeFilter) {
	f.Since, f.Until = strings.TrimSpace(cmp.Or(q.Get("since"), q.Get("within"))), strings.TrimSpace(q.Get("until"))
	read := func(name, text string) *time.Time {
		if text == "" {
			return nil
		}
		at, err := words.ParseMoment(text)
		if err != nil {
			f.Wrong = name + " “" + clean(text) + "” is not a valid time. So long ago: 90m, 2h, 3d; or in UTC: 2026-11-23, 2026-11-23 14:00"
			return nil
		}
		return &at
	}
	f.after, f.before = read("since", f.Since), read("until", f.Until)
	return f
}

// err is Wrong, where nothing may be done with all that is let through then.
func (f timeFilter) err() error {
	if f.Wrong == "" {
		return nil
	}
	return unfit{"The time is not valid", f.Wrong}
}

// span is the same counted back from now.
func (f timeFilter) span(now time.Time) (s view.Span) {
	if f.after != nil {
		s.Since = max(now.Sub(*f.after), time.Second)
	}
	if f.before != nil {
		s.Until = max(now.Sub(*f.before), 0)
	}
	return s
}
