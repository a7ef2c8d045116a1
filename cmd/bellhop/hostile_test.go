package main

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"bellhop/sql/migrate/migrated"
)

// lists are the commands that list what others have written, and wholes those that show all of one thing.
var (
	lists = strings.Split("ls|ls -s failed,running,ready,succeeded|hosts|agents|instances|locks|attachments|top --once|rjmls|"+
		"stats|history|filter list|workflow ls|workflow projects|workflow history nightly|workflow notify ls|workflow notify messages|"+
		"prune --older-than 1s --dry-run|exit-code 2|operation ls|changes", "|")
	wholes = strings.Split("show 1|show 2|show 3|show 4|show 5|explain 1|explain 2|explain 4|explain 5|graph 1|trace 2|trace 4|"+
		"filter info f1|workflow show nightly|workflow explain nightly|workflow show --run 1|retry -s failed --dry-run|"+
		"cancel 1 --dry-run|doctor|wait 2|operation show 1|operation show 2", "|")
)

// What an app, an agent or a user has written moves no cursor, rings no bell and turns no line around on a terminal,
// whatever field it stands in; and JSON is JSON.
func TestEveryLook_ShowsHostileTextAsText(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	const hostile = "<b>\x1b[2J\x07\x1b]0;title\x1b\\red\u202egnp.exe\u2066\u0085\u009b2K\u007f\u200f\t'\"`$(id)\r{{.}}"
	migrated.Fill(t, s.conn, hostile)
	// Types of which doctor has a line that mends.
	s.sql(`insert into bellhop.jobqueue (type, state, waiting_for) values ($1, 'ready', 'unknown_type')`, "idle"+hostile)
	s.sql(`insert into bellhop.jobqueue (type, state, attempt, fence, started_at, ended_at, exit_code)
		select $1, 'failed', 1, 1, now(), now(), 1 from generate_series(1, 5)`, "bad"+hostile)
	if r := s.run("doctor"); !strings.Contains(r.stdout, `ls -s failed -t $'bad<b>\033[2J\007`) {
		t.Errorf("doctor has no line that can be pasted: %q", r.stdout)
	}
	for _, look := range append(lists, wholes...) {
		args := strings.Fields(look)
		r := s.run(args...)
		for _, c := range r.stdout + r.stderr {
			if c != '\n' && (unicode.IsControl(c) || unicode.Is(unicode.Cf, c)) {
				t.Errorf("bellhop %s: %U is in it:\n%q", look, c, r.stdout+r.stderr)
				break
			}
		}
		if strings.Contains(r.stderr, "should not happen") || strings.Contains(r.stderr, "panic") {
			t.Errorf("bellhop %s: %s", look, r.stderr)
		}
		r = s.run(append(args, "-o", "json")...)
		for _, c := range r.stdout + r.stderr {
			if c != '\n' && (unicode.IsControl(c) || unicode.Is(unicode.Cf, c)) {
				t.Errorf("bellhop %s -o json: %U is in it:\n%.2000q", look, c, r.stdout+r.stderr)
				break
			}
		}
		if r.stdout != "" && r.code != 2 {
			for d := json.NewDecoder(strings.NewReader(r.stdout)); d.More(); {
				var v any
				if err := d.Decode(&v); err != nil {
					t.Errorf("bellhop %s -o json: %v: %.300s", look, err, r.stdout)
					break
				}
			}
		}
	}
}

// A megabyte in every field makes no list that nobody can read.
func TestEveryLook_CutsWhatIsLong(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	migrated.Fill(t, s.conn, strings.Repeat("long text ", 100_000))
	for _, look := range lists {
		if r := s.run(strings.Fields(look)...); len(r.stdout)+len(r.stderr) > 100_000 {
			t.Errorf("bellhop %s: %d bytes", look, len(r.stdout)+len(r.stderr))
		}
	}
}
