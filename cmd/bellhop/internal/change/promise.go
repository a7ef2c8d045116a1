package change

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/report"
	"bellhop/scheduler"
	"bellhop/sql/view"
)

// farthest is how far ahead a job may be promised.
const farthest = 366 * 24 * time.Hour

// readBy reads the time by which a job is promised: a time of the day, which is the next one, or a day and a time, each
// in the local zone or in one that is named; a time as in RFC 3339; or a time span, as +90m.
func readBy(text string, now time.Time) (time.Time, error) {
	at, err := parseBy(strings.TrimSpace(text), now)
	switch {
	case err != nil:
		return at, err
	case !at.After(now):
		return at, fmt.Errorf("%s is over", at.Format("2006-01-02 15:04:05 MST"))
	case at.Sub(now) > farthest:
		return at, errors.New("that is more than a year away, and no forecast looks so far ahead")
	}
	return at, nil
}

func parseBy(text string, now time.Time) (time.Time, error) {
	if span, is := strings.CutPrefix(text, "+"); is {
		d, err := cli.ParseAge(span)
		if err != nil {
			return now, errors.New("want a time span such as +90m, +2h or +1d")
		}
		return now.Add(d), nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	zone := time.Local
	if i := strings.LastIndexByte(text, ' '); i >= 0 && !strings.Contains(text[i:], ":") {
		var err error
		if zone, err = time.LoadLocation(text[i+1:]); err != nil || text[i+1:] == "" {
			return now, fmt.Errorf("there is no time zone %q; a zone is named as Europe/Prague or UTC", text[i+1:])
		}
		text = strings.TrimSpace(text[:i])
	}
	for _, layout := range []string{"15:04", "15:04:05"} {
		if at, err := time.Parse(layout, text); err == nil {
			local := now.In(zone)
			return wall(local.Year(), local.Month(), local.Day(), at, zone, now)
		}
	}
	for _, layout := range []string{"2006-01-02 15:04", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02T15:04:05"} {
		if at, err := time.Parse(layout, text); err == nil {
			return wall(at.Year(), at.Month(), at.Day(), at, zone, time.Time{})
		}
	}
	return now, errors.New("want 06:00, '06:00 Europe/Prague', '2026-12-01 06:00', 2026-12-01T06:00:00Z or +90m")
}

// wall is a time of a day in a zone; where it is not after that of now, of the next day.
func wall(year int, month time.Month, day int, of time.Time, zone *time.Location, now time.Time) (time.Time, error) {
	at := time.Date(year, month, day, of.Hour(), of.Minute(), of.Second(), 0, zone)
	if !now.IsZero() && !at.After(now) {
		at = time.Date(year, month, day+1, of.Hour(), of.Minute(), of.Second(), 0, zone)
	}
	if at.Hour() != of.Hour() || at.Minute() != of.Minute() {
		return at, fmt.Errorf("clocks of %s leave out %s on %s", zone, of.Format("15:04"), at.Format("2006-01-02"))
	}
	return at, nil
}

// promise answers whether the job has ended by a time, and submits it if it has, or whatever comes of it.
func promise(ctx context.Context, a *cli.App, db *cli.Session, s view.Submission, f submitFlags) error {
	p, err := report.Promised(ctx, db.Look, s, *f.promised)
	if cli.IsDenied(err) {
		return cli.Failed(cli.ExitDenied, "submit", "grant bellhop_reader to this login, or submit without --by",
			"a promise needs a look at the whole queue, and this login may not look at it")
	}
	if err != nil {
		return err
	}
	lines := strings.TrimSpace(strings.ReplaceAll(p.Lines(), "\n", "\n  "))
	if !p.Yes && !f.anyway {
		return cli.Failed(cli.ExitState, "submit", "--anyway submits it all the same, and watches the promise",
			"it cannot be promised by %s, and is not submitted\n  %s", p.By.Format("2006-01-02 15:04:05 MST"), lines)
	}
	answer := map[bool]string{true: "promised by", false: "submitted although it cannot be promised by"}[p.Yes]
	if !f.quiet && !a.JSON() {
		a.Note("%s %s\n  %s", answer, p.By.Format("2006-01-02 15:04:05 MST"), lines)
	}
	return submitted(ctx, a, db, f.wait, &p, func() (scheduler.JobID, error) {
		told := view.Foretold{By: &p.By, Starts: p.Starts, Ends: p.Ends, Latest: p.Latest}
		if p.Starts != nil {
			told.Certainty = &p.Certainty
		}
		return db.SubmitPromised(ctx, s, told)
	})
}
