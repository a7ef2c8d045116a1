package store

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bellhop/scheduler"
	"bellhop/scheduler/lock"
	"bellhop/sql/view"
)

// Whatever the database takes, passes can read.
func TestFilters_WhatIsTakenCanBeRead(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	taken := 0
	check := func(action, predicates string) bool {
		if _, err := e.conn.Exec(t.Context(), "select bellhop.filter_check($1, $2::jsonb)", action, predicates); err != nil {
			return false
		}
		taken++
		if _, err := (view.FilterRow{Action: action, Predicates: []byte(predicates)}).Rule(); err != nil {
			t.Errorf("%s %s is taken, and passes cannot read it: %v", action, predicates, err)
		}
		return true
	}
	matches := func(regex string) bool {
		return check("PAUSE", fmt.Sprintf(`[["opcode",["=~","type",%s]]]`, must(json.Marshal(regex))))
	}
	for _, regex := range []string{`a(?=b)`, `a(?!b)`, `(?<=a)b`, `(?<!a)b`, `(a)\1`, `(?x)a`, `***:a`, `***=a.`,
		`\ma`, `\ya`, `a\Z`,
		`\u00e9`, `\x4`, `[[:<:]]a`, `\é`, `(?b)a`, `\cA`, `\e`,
		`(a{100}){11}`, `(?:x(?:a{2,40}|b)*){26,}`, `((a{9,}){10}?b){12}`, `[[:alpha:]()]{1,100}([)]{5}(b{101}c)+){10}`, `([[.a.](])`,
		strings.Repeat("(", 1001) + "a" + strings.Repeat(")", 1001)} {
		if matches(regex) {
			t.Errorf("%s is taken", regex)
		}
	}
	for _, regex := range []string{"", "^a", `\.csv$`, `(?i)mail`, `(?:a|b)+?`, `[(?=]`,
		`[]a]`, `[^]a]`, `\\1`, `a{2,3}`, `[[:alpha:]_-]*`, `\d+\s\w`,
		`é`, `\(\?x`,
		`(a{100}){10}`, `(a{200}b){5}(c{200}){5}`, `((a{200}){0}b){9}`, `((a{200}){0,}b){5}`, `\(a{200}(b\){5}){9}`, `[({]a{200}[^)}]{9}`,
		`(x{,5}{y){9}`, `[.]csv[=]`, `[[:alpha:](]{9}`,
		strings.Repeat("(", 200) + "a" + strings.Repeat(")", 200)} {
		if !matches(regex) {
			t.Errorf("%s is refused", regex)
		}
	}
	for _, action := range []string{"RATE_LIMIT 1 per 1ms", "RATE_LIMIT 1 per 1.5h",
		"RATE_LIMIT 1 per 1h1m1s1ms1us1µs1ns", "RATE_LIMIT 1 per 876000h"} {
		if !check(action, "[]") {
			t.Errorf("%s is refused", action)
		}
	}
	random := rand.New(rand.NewPCG(5, 6))
	words := strings.Split(`a b \ ( ) (?: (?i) (?= [ ] [^ | * + ? {2} {40} {0} {3,} ( ) ^ $ . \d \1 \m é - [:alpha:] [. =`, " ")
	for range 2000 {
		var regex string
		for range random.IntN(12) {
			regex += words[random.IntN(len(words))]
		}
		matches(regex)
	}
	if taken < 100 {
		t.Errorf("only %d were taken", taken)
	}
}

// What cannot be read all the same holds whom it might mean, and says so.
func TestFilters_WhatCannotBeReadHolds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		action, predicates string
		holds              bool
	}{
		{"RATE_LIMIT 5 per 0s", opcodeCat, true},
		{"RATE_LIMIT 5 per 0s", `[["opcode",["=","type","dog"]]]`, false},
		{"RATE_LIMIT 5", `[["opcode",["=~","type","(c)at|\\1"]]]`, true},
		{"REJECT", `[["opcode",["=~","type","c(?=a)"]]]`, true},
		{"ACCEPT", `[["opcode",["=~","type","c(?=a)"]]]`, false},
		{"CONTINUE", `[["opcode",["=~","type","c(?=a)"]]]`, false},
	} {
		t.Run(c.action+c.predicates, func(t *testing.T) {
			t.Parallel()
			e := openEnv(t)
			var told strings.Builder
			e.claimer.Log = slog.New(slog.NewTextHandler(&told, nil))
			job := e.locked("db:a=exclusive")
			e.exec(`insert into bellhop.filter (id, priority, watermark, predicates, action, reason, created_by)
				values ('r', 0, 0, $1::jsonb, $2, '', 'me')`,
				c.predicates, c.action)
			want := []scheduler.JobID{job}
			if c.holds {
				want = nil
			}
			if got := e.pass(5); !slices.Equal(got, want) {
				t.Errorf("%v start, want %v", got, want)
			}
			e.exec("update bellhop.jobqueue set behind = null")
			e.locked("db:b=exclusive")
			e.pass(5)
			if n := strings.Count(told.String(), "a filter cannot be read"); n != 1 {
				t.Errorf("the log is told %d times: %s", n, told.String())
			}
			if rows := must(view.NewLook(e.conn).Filters(t.Context(), nil)); rows[0].Unreadable == "" {
				t.Errorf("listed as %+v", rows[0])
			}
		})
	}
}

func TestFilters_WhatWouldLetThroughLetsNobodyThroughUnread(t *testing.T) {
	t.Parallel()
	for kind, want := range map[lock.ActionKind]lock.ActionKind{lock.Accept: lock.Continue, lock.Continue: lock.Continue,
		lock.Pause: lock.Pause, lock.Reject: lock.Pause, lock.RateLimit: lock.Pause} {
		if got := (lock.Action{Kind: kind}).Closed().Kind; got != want {
			t.Errorf("%s becomes %s, want %s", kind, got, want)
		}
	}
}
