package cron

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	robfig "github.com/robfig/cron/v3"
	"pgregory.net/rapid"
)

func spec(t *testing.T, text, zone string) Spec {
	t.Helper()
	s, err := Parse(text, zone)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// slots are the next ones after a time, as the clock of the zone shows them.
func slots(t *testing.T, s Spec, after string, n int) (list []string) {
	t.Helper()
	at, err := time.Parse(time.RFC3339, after)
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		next, ok := s.Next(at)
		if !ok {
			break
		}
		if !next.After(at) {
			t.Fatalf("%s comes not after %s", next, at)
		}
		list, at = append(list, next.In(s.Zone()).Format("01-02 15:04:05 MST")), next
	}
	return list
}

func TestNext_Table(t *testing.T) {
	t.Parallel()
	const prague = "Europe/Prague" // the clocks leap on 2026-03-29 at 02:00, and back on 2026-10-25 at 03:00
	for _, x := range []struct{ text, zone, after, want string }{
		{"0 2 * * *", prague, "2026-03-27T12:00:00Z", "03-28 02:00:00 CET, 03-29 03:00:00 CEST, 03-30 02:00:00 CEST"},
		{"30 2 * * *", prague, "2026-03-28T12:00:00Z", "03-29 03:00:00 CEST, 03-30 02:30:00 CEST"},
		{"0,30 2 * * *", prague, "2026-03-28T12:00:00Z", "03-29 03:00:00 CEST, 03-30 02:00:00 CEST"},
		{"30 2,3 * * *", prague, "2026-03-28T12:00:00Z", "03-29 03:00:00 CEST, 03-29 03:30:00 CEST"},
		{"30 2 * * *", prague, "2026-10-24T12:00:00Z", "10-25 02:30:00 CEST, 10-26 02:30:00 CET"},
		{"30 2 25 * *", prague, "2026-10-25T00:45:00Z", "11-25 02:30:00 CET"},
		{"0 * * * *", prague, "2026-10-24T23:30:00Z", "10-25 02:00:00 CEST, 10-25 02:00:00 CET, 10-25 03:00:00 CET"},
		{"0 * * * *", prague, "2026-03-29T00:30:00Z", "03-29 03:00:00 CEST, 03-29 04:00:00 CEST"},
		{"*/30 2 * * *", prague, "2026-10-24T23:00:00Z",
			"10-25 02:00:00 CEST, 10-25 02:30:00 CEST, 10-25 02:00:00 CET, 10-25 02:30:00 CET, 10-26 02:00:00 CET"},
		{"15 2 * * *", "Australia/Lord_Howe", "2026-10-02T16:00:00Z", "10-04 02:30:00 +11, 10-05 02:15:00 +11"},
		{"45 1 * * *", "Australia/Lord_Howe", "2026-04-03T16:00:00Z", "04-05 01:45:00 +11, 04-06 01:45:00 +1030"},
		{"0 0 * * *", "America/Santiago", "2026-09-05T12:00:00Z", "09-06 01:00:00 -03, 09-07 00:00:00 -03"},
		{"*/15 * * * SUN", "America/Santiago", "2026-09-06T03:30:00Z", "09-06 01:00:00 -03, 09-06 01:15:00 -03"},
		{"*/15 * 6 * *", "America/Santiago", "2026-09-05T12:00:00Z", "09-06 01:00:00 -03, 09-06 01:15:00 -03"},
		{"0 12 30 12 *", "Pacific/Apia", "2011-12-28T00:00:00Z", "12-30 12:00:00 +14"},
		{"*/20 * * * * *", "", "2026-01-01T00:00:05Z", "01-01 00:00:20 UTC, 01-01 00:00:40 UTC, 01-01 00:01:00 UTC"},
		{"0 0 29 2 *", "", "2026-01-01T00:00:00Z", "02-29 00:00:00 UTC"},
		{"0 0 13 * FRI", "", "2026-01-01T00:00:00Z", "01-02 00:00:00 UTC, 01-09 00:00:00 UTC, 01-13 00:00:00 UTC"},
		{"0 0 1-7 * */7", "", "2026-01-01T00:00:00Z", "01-04 00:00:00 UTC, 02-01 00:00:00 UTC"},
		{"*/10 * 1 * *", "", "2026-01-31T10:37:21Z", "02-01 00:00:00 UTC, 02-01 00:10:00 UTC"},
		{"*/10 * * * 1-5", prague, "2026-05-31T10:37:21Z", "06-01 00:00:00 CEST"},
		{"@weekly", "", "2026-01-01T00:00:00Z", "01-04 00:00:00 UTC"},
		{"5/20 9-17/4 * jan,MAR 7", "", "2026-01-31T00:00:00Z", "03-01 09:05:00 UTC, 03-01 09:25:00 UTC"},
	} {
		n := strings.Count(x.want, ",") + 1
		if got := strings.Join(slots(t, spec(t, x.text, x.zone), x.after, n), ", "); got != x.want {
			t.Errorf("%s in %s after %s:\n%s, want\n%s", x.text, x.zone, x.after, got, x.want)
		}
	}
}

// In UTC, where no clock leaps, a library that many use says the same.
func TestNext_AgreesWithAnotherLibrary(t *testing.T) {
	t.Parallel()
	parser := robfig.NewParser(robfig.Second | robfig.Minute | robfig.Hour | robfig.Dom | robfig.Month | robfig.Dow)
	rapid.Check(t, func(t *rapid.T) {
		part := func(f field, top int) string {
			v := rapid.IntRange(f.least, top)
			switch a := v.Draw(t, f.name); rapid.IntRange(0, 4).Draw(t, "form") {
			case 0:
				return fmt.Sprint(a)
			case 1:
				return fmt.Sprintf("%d-%d", a, rapid.IntRange(a, top).Draw(t, "to"))
			case 2:
				return fmt.Sprintf("%d-%d/%d", a, top, rapid.IntRange(1, 9).Draw(t, "step"))
			case 3:
				return fmt.Sprintf("%d,%d", a, v.Draw(t, "and"))
			}
			return "*"
		}
		var list []string
		for _, f := range fields {
			top := f.top
			switch f.name {
			case "day":
				top = 28
			case "weekday":
				top = 6
			}
			list = append(list, part(f, top))
		}
		text := strings.Join(list, " ")
		want, err := parser.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Parse(text, "UTC")
		if err != nil {
			t.Fatal(err)
		}
		at := time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "at"), 0).UTC()
		for range 5 {
			next, ok := got.Next(at)
			if other := want.Next(at); !ok || !next.Equal(other) {
				t.Fatalf("%s after %s: %s, another library says %s", text, at, next, other)
			}
			at = next
		}
	})
}

// A spec that goes by time that passes fires in each minute whose clock shows it, whatever the clock does.
func TestNext_LeavesNoMinuteOut(t *testing.T) {
	t.Parallel()
	zones := []string{"UTC", "Europe/Prague", "Australia/Lord_Howe", "America/Santiago", "Pacific/Apia", "Asia/Tehran"}
	rapid.Check(t, func(t *rapid.T) {
		step := rapid.SampledFrom([]int{7, 10, 15, 30}).Draw(t, "step")
		days := rapid.SampledFrom([]string{"1 * *", "31 * *", "* * 1-5", "* * 0", "1,15 * 3", "* */2 *"}).Draw(t, "days")
		zone := rapid.SampledFrom(zones).Draw(t, "zone")
		s, err := Parse(fmt.Sprintf("*/%d * %s", step, days), zone)
		if err != nil {
			t.Fatal(err)
		}
		// In the last days of a month: what has its date is found by looking over the end.
		month := time.Date(2010, time.Month(rapid.IntRange(1, 240).Draw(t, "month")), 1, 0, 0, 0, 0, s.zone)
		at := month.Add(-time.Duration(rapid.Int64Range(0, int64(72*time.Hour/time.Second)).Draw(t, "before")) * time.Second)
		got, ok := s.Next(at)
		want := at.Truncate(time.Minute).Add(time.Minute)
		for ; !s.onDay(want.In(s.zone)) || want.In(s.zone).Minute()%step != 0; want = want.Add(time.Minute) {
			if want.Sub(at) > 70*24*time.Hour {
				return
			}
		}
		if !ok || !got.Equal(want) {
			t.Fatalf("%s in %s after %s: %s, and the clock shows it at %s", s, zone, at, got.In(s.zone), want.In(s.zone))
		}
	})
}

// Whatever a zone's clocks do: slots come in order, none is left out by looking
// from another moment, and a fixed time comes once a day.
func TestNext_IsInOrderInEveryZone(t *testing.T) {
	t.Parallel()
	zones := []string{"Europe/Prague", "America/New_York", "Australia/Lord_Howe", "America/Santiago", "Pacific/Apia",
		"Asia/Tehran", "Africa/Casablanca", "America/St_Johns", "Asia/Gaza", "Europe/Dublin"}
	rapid.Check(t, func(t *rapid.T) {
		h, m := rapid.IntRange(0, 23).Draw(t, "hour"), rapid.IntRange(0, 59).Draw(t, "minute")
		zone := rapid.SampledFrom(zones).Draw(t, "zone")
		s, err := Parse(fmt.Sprintf("%d %d * * *", m, h), zone)
		if err != nil {
			t.Fatal(err)
		}
		at := time.Unix(rapid.Int64Range(1.3e9, 1.9e9).Draw(t, "at"), 0)
		first, _ := s.Next(at)
		between := at.Add(time.Duration(rapid.Int64Range(0, int64(first.Sub(at))-1).Draw(t, "between")))
		if again, _ := s.Next(between); !again.Equal(first) {
			t.Fatalf("after %s: %s, after %s: %s", at, first, between, again)
		}
		n := 0
		for range 400 {
			next, _ := s.Next(first)
			if d := next.Sub(first); d < 21*time.Hour || d > 49*time.Hour {
				t.Fatalf("%s in %s: from %s to %s", s, zone, first, next)
			}
			if next.Sub(first) > 27*time.Hour {
				n++
			}
			first = next
		}
		if n > 1 { // Apia once had no 30th of December at all
			t.Fatalf("%d days without a slot", n)
		}
	})
}

func TestParse_SaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                              "0 fields",
		"* * * *":                       "4 fields: it takes 5",
		"60 * * * *":                    `minute "60": it is 0 to 59`,
		"* 24 * * *":                    `hour "24": it is 0 to 23`,
		"* * 0 * *":                     `day "0": it is 1 to 31`,
		"* * * foo *":                   `month "foo": it is 1 to 12, or JAN to DEC`,
		"* * * * 8":                     `weekday "8": it is 0 to 7`,
		"*/0 * * * *":                   "a step is a number from 1 to 999999999",
		"0 0 */9223372036854775807 * *": "a step is a number from 1 to 999999999",
		"5-1 * * * *":                   "ends before it begins",
		"0 0 30 2 *":                    "never fires",
		"@reboot":                       "there are @hourly",
		"1,, * * * *":                   `minute ""`,
		"-5 * * * *":                    `minute ""`,
		"1 2 3 4 5 6 7 ":                "7 fields",
	} {
		if _, err := Parse(text, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	for _, zone := range []string{"Mars/Base", "Local", "local"} {
		if _, err := Parse("@daily", zone); err == nil || !strings.Contains(err.Error(), "is not a valid time zone") {
			t.Errorf("zone %s: %v", zone, err)
		}
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"0 2 * * *":        "at 02:00; every day; Europe/Prague",
		"5 0 2 * * 1-5":    "at 02:00:05; on weekday MON, TUE, WED, THU, FRI; Europe/Prague",
		"*/5 * * * *":      "every 5 minutes; Europe/Prague",
		"0-59/20 * * * 1":  "every 20 minutes; on weekday MON; Europe/Prague",
		"5-59/20 * * * *":  "in every hour, minute 5, 25, 45; every day; Europe/Prague",
		"* * * * *":        "every minute; Europe/Prague",
		"*/30 * 1 * *":     "in every hour, minute 0, 30; on day 1; Europe/Prague",
		"0 0 13 1 FRI":     "at 00:00; on day 13, and on weekday FRI, month JAN; Europe/Prague",
		"0 0 1-7 * */7":    "at 00:00; on day 1, 2, 3, 4, 5, 6, 7 if it is weekday SUN; Europe/Prague",
		"*/30 * * * * *":   "in every hour, every minute, second 0, 30; every day; Europe/Prague",
		"0  12   * * MON ": "at 12:00; on weekday MON; Europe/Prague",
	} {
		if got := spec(t, text, "Europe/Prague").Words(); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 10, 24, 12, 0, 0, 0, time.UTC) // clocks are put back the night after
	got := spec(t, "30 2 * * *", "Europe/Prague").Explain(at, 2)
	want := Explained{Cron: "30 2 * * *", Zone: "Europe/Prague", Says: "at 02:30; every day; Europe/Prague",
		Next: []time.Time{time.Date(2026, 10, 25, 0, 30, 0, 0, time.UTC), time.Date(2026, 10, 26, 1, 30, 0, 0, time.UTC)}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := spec(t, "@daily", "").Explain(at, 0).Next; got == nil || len(got) != 0 {
		t.Errorf("none asked for: %v, want an empty list", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("*/5 1-3 * * MON", "Europe/Prague")
	f.Fuzz(func(t *testing.T, text, zone string) {
		if s, err := Parse(text, zone); err == nil {
			at := time.Unix(1.7e9, 0)
			if next, ok := s.Next(at); !ok || !next.After(at) {
				t.Errorf("%q in %q: %s, %v", text, zone, next, ok)
			}
			_ = s.Words()
		}
	})
}
