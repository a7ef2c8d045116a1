package main

import (
	"strings"
	"testing"
)

// The table of keys shows a weight as it was set.
func TestShare_ListsWeightsAsTheyWereSet(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	s.ok("share", "set", "mail", "customer-42", "0.3")
	s.id("mail", "--share", "customer-7")
	s.sql("insert into bellhop.share_line values ('mail', '', 0, 'customer-7', 0, 0, 1, false, 5)")
	s.sql(`insert into bellhop.jobqueue (type, share, state, attempt, fence, started_at, ended_at, exit_code)
		values ('mail', 'done', 'succeeded', 1, 1, now() - interval '2 minutes', now() - interval '1 minute', 0)`)
	has(t, s.ok("share", "ls", "mail"), "customer-42  0.3     0        0        0        0     0.0 %  0.0 %",
		"customer-7   1       1        0        5        0     0.0 %  50 %", "done         1       0        0        0        1     100 %  50 %")
	has(t, strings.Join(strings.Fields(s.ok("share", "ls", "mail", "-o", "json")), ""),
		`"last_hour":{"starts":1,"slot_seconds":60,"part":1,"due":0.5,"complete":true}`)
}
