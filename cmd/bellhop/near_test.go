package main

import (
	"strings"
	"testing"
	"time"

	"bellhop/scheduler/words"
)

// Of many types, those with the most similar names are told; of a few, all. What is submitted is asked about.
func TestUnknownType_NamesTheNearestTypes(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	s.sql(`insert into bellhop.instance (name, hostname, machine, pid, process_start, version, lag)
		values ('here', 'here', 'm', 1, 's', 'v', '30s')`)
	agents := func(names string) {
		s.sql(`insert into bellhop.agent (instance, type, mode, dialect, command, max, max_per_host)
			select i.id, n, 'exec', '', 'x', 0, 0 from bellhop.instance i, unnest($1::text[]) n`, names)
	}
	agents("{convert,license,mail}")
	if r := s.run("submit", "licnese"); !strings.Contains(r.stderr, "did you mean license?") {
		t.Errorf("submit says %s", r.stderr)
	}
	if r := s.run("submit", "zebra"); strings.Contains(r.stderr, "did you mean") {
		t.Errorf("submit says %s", r.stderr)
	}
	has(t, s.ok("explain", "1"), "No running instance has an agent of type 'licnese'. There are: convert, license, mail.")
	s.sql(`insert into bellhop.agent (instance, type, mode, dialect, command, max, max_per_host)
		select i.id, 'step' || n, 'exec', '', 'x', 0, 0 from bellhop.instance i, generate_series(1, 200) n`)
	has(t, s.ok("explain", "1"), "Of 203 types, these have the most similar names: license.\n")
	has(t, s.ok("explain", "2"), "There are 203 types, none with a similar name.\n")
	text := s.ok("explain", s.id("steps", "-q"))
	if n := strings.Count(text, "step") - 1; n < 5 || n > 7 || len(text) > 500 {
		t.Errorf("%d names: %s", n, text)
	}
}

// Sentences of the database and of commands write a time span alike.
func TestTimes_AreWrittenAlikeInSQLAndInGo(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	for _, span := range []time.Duration{
		0, 400 * time.Microsecond, 6100 * time.Microsecond, 28 * time.Millisecond, 123456 * time.Microsecond,
		999600 * time.Microsecond, 1234 * time.Millisecond, 12340 * time.Millisecond, 59970 * time.Millisecond,
		185 * time.Second, 125 * time.Minute, 76 * time.Hour,
	} {
		var took, lasting string
		err := s.conn.QueryRow(t.Context(), "select bellhop.took(x), bellhop.lasting(x) from (select $1::interval as x) y", span).
			Scan(&took, &lasting)
		if err != nil {
			t.Fatal(err)
		}
		if want := words.Took(span.Seconds()); took != want {
			t.Errorf("%v took %q, want %q", span, took, want)
		}
		if want := words.Lasting(span.Seconds()); lasting != want {
			t.Errorf("%v lasts %q, want %q", span, lasting, want)
		}
	}
}
