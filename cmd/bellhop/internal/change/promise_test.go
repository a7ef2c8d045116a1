package change

import (
	"strings"
	"testing"
	"time"
)

// A time of the day is the next one, in the local zone or in that which is named, also where clocks change.
func TestReadBy_TimesAndZones(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.Local)
	prague, err := time.LoadLocation("Europe/Prague")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]time.Time{
		"18:00":                          time.Date(2026, 11, 27, 18, 0, 0, 0, time.Local),
		"06:00":                          time.Date(2026, 11, 28, 6, 0, 0, 0, time.Local),
		"12:00":                          time.Date(2026, 11, 28, 12, 0, 0, 0, time.Local),
		"06:00:30":                       time.Date(2026, 11, 28, 6, 0, 30, 0, time.Local),
		" 2026-12-01 06:00 ":             time.Date(2026, 12, 1, 6, 0, 0, 0, time.Local),
		"2026-12-01T06:00":               time.Date(2026, 12, 1, 6, 0, 0, 0, time.Local),
		"2026-12-01T06:00:00Z":           time.Date(2026, 12, 1, 6, 0, 0, 0, time.UTC),
		"2026-12-01T06:00:00+05:00":      time.Date(2026, 12, 1, 1, 0, 0, 0, time.UTC),
		"2026-12-01 06:00 Europe/Prague": time.Date(2026, 12, 1, 6, 0, 0, 0, prague),
		"2027-07-01 06:00 Europe/Prague": time.Date(2027, 7, 1, 4, 0, 0, 0, time.UTC),
		"+90m":                           now.Add(90 * time.Minute),
		"+1d":                            now.Add(24 * time.Hour),
	} {
		if at, err := readBy(text, now); err != nil || !at.Equal(want) {
			t.Errorf("%q is %v, and not %v: %v", text, at, want, err)
		}
	}
	at, err := readBy("06:00 Europe/Prague", now)
	if err != nil || at.In(prague).Hour() != 6 || !at.After(now) || at.Sub(now) > 24*time.Hour {
		t.Errorf("%v %v", at, err)
	}
	for text, says := range map[string]string{
		"": "want 06:00", "soon": "want 06:00", "25:00": "want 06:00", "2026-13-01 06:00": "want 06:00", "infinity": "want 06:00",
		"2026-11-26 06:00": "is over", "2020-01-01T00:00:00Z": "is over", "+0s": "is over", "+x": "a time span", "+-5m": "a time span",
		"2029-01-01 06:00": "more than a year", "06:00 Mars/Base": "no time zone", "06:00 ../../etc/passwd": "no time zone",
		"2027-03-28 02:30 Europe/Prague": "leave out 02:30",
	} {
		if at, err := readBy(text, now); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v %v", text, at, err)
		}
	}
}
