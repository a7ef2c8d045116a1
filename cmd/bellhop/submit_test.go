package main

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"bellhop/cmd/bellhop/internal/cli"
)

func TestSubmit_WritesEveryFlagToTheRow(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	id := s.id("license", "--msq", "select 1 limit 1", "--repeat", "once", "--key", "k", "--priority-name", "n2", "--run-on", "h",
		"--at", "+10m", "--var", "A=1", "--var", "B=x=y", "--max-attempts", "3", "--timeout", "90s")
	var row map[string]any
	var text string
	if err := s.conn.QueryRow(t.Context(), `select to_jsonb(j) from bellhop.jobqueue j where id = $1::text::bigint and state = 'scheduled'
		and run_at between clock_timestamp() + interval '9 min' and clock_timestamp() + interval '10 min'`, id).Scan(&text); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(text), &row); err != nil {
		t.Fatal(err)
	}
	for column, want := range map[string]string{"type": `"license"`, "args": `null`, "msq": `"select 1 limit 1"`,
		"repeat": `"once"`, "key": `"k"`,
		"priority": `0`, "priority_name": `"n2"`, "run_on": `"h"`, "vars": `{"A":"1","B":"x=y"}`,
		"max_attempts": `3`, "timeout": `"00:01:30"`, "held": `false`} {
		if got, _ := json.Marshal(row[column]); string(got) != want {
			t.Errorf("%s = %s, want %s", column, got, want)
		}
	}
}

func TestSubmit_TellsNoArgumentFromAnEmptyOne(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	none, empty, dash := s.id("a"), s.id("a", ""), s.id("a", "--", "-5")
	rows, _ := s.conn.Query(t.Context(), "select coalesce(args, 'NULL') from bellhop.jobqueue where id = any ($1::text[]::bigint[]) order by id", []string{none, empty, dash})
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || strings.Join(got, "|") != "NULL||-5" {
		t.Errorf("args are %q, %v", got, err)
	}
}

func TestSubmit_TheSameKeyGivesTheSameJob(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	first := s.id("a", "x", "--key", "k")
	if again := s.id("a", "x", "--key", "k"); again != first {
		t.Errorf("got %s, want %s again", again, first)
	}
	s.fails(cli.ExitState, "it has args 'x', not 'y'", "submit", "a", "y", "--key", "k")
}

func TestSubmit_IsInTheTraceOfWhoeverCallsIt(t *testing.T) {
	s := newHarness(t)
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for _, c := range []struct{ given, want string }{{parent, parent}, {"", ""}, {"nonsense", ""}, {parent + " ", ""}} {
		t.Setenv("TRACEPARENT", c.given)
		id := strings.TrimSpace(s.ok("submit", "work"))
		var got string
		if err := s.conn.QueryRow(t.Context(), "select coalesce(traceparent, '') from bellhop.jobqueue where id = $1::text::bigint", id).Scan(&got); err != nil || got != c.want {
			t.Errorf("TRACEPARENT=%q: the job has %q, want %q (%v)", c.given, got, c.want, err)
		}
	}
	// It is no part of what a job is about.
	t.Setenv("TRACEPARENT", parent)
	first := s.ok("submit", "work", "--key", "k")
	t.Setenv("TRACEPARENT", "")
	if again := s.ok("submit", "work", "--key", "k"); again != first {
		t.Errorf("the same key is job %q, and was %q", again, first)
	}
}

func TestSubmit_HoldsAndWaits(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	held := s.id("a", "--hold", "--at", "2030-01-02T03:04:05+01:00")
	has(t, s.ok("ls", "-s", "held"), held, "held")
	has(t, s.ok("release", held), held+" scheduled")

	s.sql("alter table bellhop.jobqueue alter state set default 'succeeded'") // it is done as soon as it is there
	if out := s.ok("submit", "a", "--wait"); strings.TrimSpace(out) == "" {
		t.Error("no id was printed")
	}
	has(t, s.ok("submit", "a", "--wait", "-o", "json"), `"state": "succeeded"`)
	s.sql("alter table bellhop.jobqueue alter state set default 'failed'")
	s.fails(cli.ExitJobFailed, " failed", "submit", "a", "--wait")
}

func TestSubmit_AfterOthers(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	first, second := s.id("a", "--key", "one"), s.id("a")
	third := s.id("a", "--after", "one", "--after", second, "--wanted", "failed,cancelled", "--on-failure", "block", "--key", "three")
	has(t, s.ok("ls", "-s", "blocked"), third, "dependencies")
	if again := s.id("a", "--after", first, "--after", second, "--wanted", "failed,cancelled", "--on-failure", "block", "--key", "three"); again != third {
		t.Errorf("got %s, want %s again", again, third)
	}
	s.ok("cancel", first, second)
	has(t, s.ok("ls", "-s", "ready"), third)
	s.fails(cli.ExitNotFound, "there is no job with the key \"four\"", "submit", "a", "--after", "four")
	s.fails(cli.ExitNotFound, "there is no job 4444", "submit", "a", "--after", "4444")
	s.fails(cli.ExitUsage, "a job cannot need itself: 'me' is the key of the new one", "submit", "a", "--key", "me", "--after", "me")
	last, err := strconv.Atoi(s.id("a"))
	if err != nil {
		t.Fatal(err)
	}
	own := strconv.Itoa(last + 1)
	s.fails(cli.ExitUsage, "a job cannot need itself: "+own+" is the id of the new one", "submit", "a", "--after", own)
}

func TestSubmit_RefusesInPlainWords(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	for _, c := range []struct {
		says string
		args []string
	}{
		{"needs the type", nil},
		{"put quotes around", []string{"a", "b", "c"}},
		{"TYPE is empty", []string{""}},
		{"not both", []string{"a", "b", "--msq", "select 1"}},
		{"one line", []string{"a", "b\nc"}},
		{"query of --msq is empty", []string{"a", "--msq", " "}},
		{"once or until_empty", []string{"a", "--msq", "select 1", "--repeat", "twice"}},
		{"none is given", []string{"a", "--repeat", "once"}},
		{"from -20", []string{"a", "--priority", "20"}},
		{"from -20", []string{"a", "--priority", "99999999999999999999"}},
		{"letters and digits", []string{"a", "--priority-name", "a-b"}},
		{"high (-10)", []string{"a", "--priority", "abc"}},
		{"high (-10)", []string{"a", "--priority", "n"}},
		{"give one of them", []string{"a", "--priority", "low", "--priority-name", "b"}},
		{"--key is empty", []string{"a", "--key", ""}},
		{"1000 characters", []string{"a", "--key", strings.Repeat("k", 1001)}},
		{"--run-on is empty", []string{"a", "--run-on", ""}},
		{"1 or more", []string{"a", "--max-attempts", "0"}},
		{"longer than 0", []string{"a", "--timeout", "0"}},
		{"want a time span", []string{"a", "--timeout", "5"}},
		{"level:name=exclusive", []string{"a", "--lock", "db"}},
		{"want name=value", []string{"a", "--var", "A"}},
		{"each name once", []string{"a", "--var", "A=1", "--var", "A=2"}},
		{"or +10m", []string{"a", "--at", "tomorrow"}},
		{"+90s", []string{"a", "--at", "+later"}},
		{"fail, block or run", []string{"a", "--on-failure", "cry"}},
		{"none is given", []string{"a", "--wanted", "failed"}},
		{"quarantined", []string{"a", "--after", "x", "--wanted", "done"}},
		{"UTF-8", []string{"a", "\xff"}},
		{"-- in front", []string{"a", "-5"}},
	} {
		s.fails(cli.ExitUsage, c.says, append([]string{"submit"}, c.args...)...)
	}
}

// Of two jobs the one that is called more urgent runs first.
func TestSubmit_PriorityWordsMeanWhatTheySay(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	for _, word := range []string{"low", "normal", "urgent", "high"} {
		s.id("a", word, "--priority", word)
	}
	s.id("a", "edited", "--key", "e")
	s.ok("edit", "e", "--priority", "high")
	got, err := collectText(t, s.conn, "select concat_ws(' ', args, priority, priority_name) from bellhop.jobqueue order by priority, id")
	if want := "urgent -20|high -10|edited -10|normal 0|low 10"; err != nil || strings.Join(got, "|") != want {
		t.Errorf("%q, %v, want %s", got, err, want)
	}
}
