package cron

import (
	"math/bits"
	"time"
)

// horizon is how many days are looked at: the 29th of February of a weekday comes
// around after 40 years at the latest.
const horizon = 41 * 366

// Next is the first slot after a time, in UTC; false: there is none.
func (s Spec) Next(after time.Time) (time.Time, bool) {
	after = after.In(s.zone)
	if s.passing {
		return s.nextPassing(after)
	}
	year, month, day := after.Date()
	for i := range horizon {
		// Noon is there on every day.
		noon := time.Date(year, month, day+i, 12, 0, 0, 0, s.zone)
		if !s.onDay(noon) {
			continue
		}
		if at, ok := s.onThat(noon, after); ok {
			return at.UTC(), true
		}
	}
	return time.Time{}, false
}

// onDay reports whether it fires on the day of a time.
func (s Spec) onDay(t time.Time) bool {
	if s.month&(1<<t.Month()) == 0 {
		return false
	}
	day, weekday := s.day&(1<<t.Day()) != 0, s.weekday&(1<<t.Weekday()) != 0
	if s.anyDay || s.anyWeekday {
		return day && weekday
	}
	return day || weekday
}

// onThat is the first of the day's fixed times that is after another time. Times
// of the wall's clock in their order are moments in the same order, so that an
// hour whose last one is too early has none.
func (s Spec) onThat(noon, after time.Time) (at time.Time, ok bool) {
	year, month, day := noon.Date()
	moment := func(h, m, sec int) time.Time { return first(year, month, day, h, m, sec, s.zone) }
	lastMinute, lastSecond := 63-bits.LeadingZeros64(s.minute), 63-bits.LeadingZeros64(s.second)
	for h := range 24 {
		if s.hour&(1<<h) == 0 || !moment(h, lastMinute, lastSecond).After(after) {
			continue
		}
		for m := range 60 {
			if s.minute&(1<<m) == 0 || !moment(h, m, lastSecond).After(after) {
				continue
			}
			for sec := range 60 {
				if s.second&(1<<sec) == 0 {
					continue
				}
				if at = moment(h, m, sec); at.After(after) {
					return at, true
				}
			}
		}
	}
	return at, false
}

// first is when a clock on the wall shows a time for the first time: where it is
// left out, when the clock has leapt over it.
func first(year int, month time.Month, day, h, m, s int, zone *time.Location) time.Time {
	at := time.Date(year, month, day, h, m, s, 0, zone)
	if at.Hour() == h && at.Minute() == m && at.Second() == s && at.Day() == day {
		// It may be the second of two: the offset of some hours ago tells.
		_, now := at.Zone()
		_, before := at.Add(-3 * time.Hour).Zone()
		if shown := at.Add(time.Duration(now-before) * time.Second); before > now && sameClock(shown, at) {
			return shown
		}
		return at
	}
	// time.Date goes by one of the two offsets; the leap is near. Where does it end?
	start, end := at.ZoneBounds()
	if wall := time.Date(year, month, day, h, m, s, 0, time.UTC); clockOf(at).Before(wall) {
		return end
	}
	return start
}

// clockOf is what the clock shows, as if that was UTC.
func clockOf(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

func sameClock(a, b time.Time) bool { return clockOf(a).Equal(clockOf(b)) }

// nextPassing goes by time that passes: it looks at what the clock shows from
// moment to moment, and leaps over what cannot fit.
func (s Spec) nextPassing(after time.Time) (time.Time, bool) {
	t := after.Truncate(time.Second).Add(time.Second)
	end := t.AddDate(0, 0, horizon)
	for t.Before(end) {
		year, month, day := t.Date()
		h, m, sec := t.Clock()
		switch {
		case !s.onDay(t):
			// The first moment of the next day, by its own date: first compares what the clock shows with it. Where
			// midnight is left out, time.Date is an hour off, to either side.
			y, mon, d := time.Date(year, month, day+1, 12, 0, 0, 0, s.zone).Date()
			next := first(y, mon, d, 0, 0, 0, s.zone)
			if !next.After(t) { // midnight came twice
				next = t.Add(time.Duration(3600-60*m-sec) * time.Second)
			}
			t = next
		case s.hour&(1<<h) == 0:
			t = t.Add(time.Duration(3600-60*m-sec) * time.Second)
		case s.minute&(1<<m) == 0:
			t = t.Add(time.Duration(60-sec) * time.Second)
		case s.second&(1<<sec) == 0:
			t = t.Add(time.Second)
		default:
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}
