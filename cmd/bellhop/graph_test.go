package main

import (
	"strings"
	"testing"

	"bellhop/cmd/bellhop/internal/cli"
)

func TestGraph_PrintsWhoNeedsWhom(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	s.id("billing", "--key", "billing")
	s.id("ship", "--key", "shipping", "--after", "billing")
	s.id("mail", "--after", "billing", "--after", "shipping", "--wanted", "succeeded,failed")
	s.id("alone")
	want := `STATE    ID  JOB
ready    1   billing
blocked  2     shipping
blocked  3       mail (if succeeded or failed)
-        3     mail (if succeeded or failed)  ↑ see above
`
	for _, name := range []string{"billing", "2", "3"} {
		if got := s.ok("graph", name); got != want {
			t.Errorf("graph %s is\n%s", name, got)
		}
	}
	has(t, s.ok("graph", "4"), "ready  4   alone")
	has(t, s.ok("graph", "3", "--dot"), `1 [label="billing\n1 ready", fillcolor=white];`, "1 -> 2;", `2 -> 3 [label="succeeded or failed"];`)
	has(t, s.ok("graph", "3", "-o", "json"), `"needs": 2`)
	s.ok("cancel", "billing")
	has(t, s.ok("graph", "1"), "failed     2     shipping  [job 1 (billing), which it needs, was cancelled]")
	s.fails(cli.ExitNotFound, "no job with the key", "graph", "nobody")
}

func TestGraph_OfALongChainAndAWideDiamond(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	s.sql(`insert into bellhop.jobqueue (type) select 'chain' from generate_series(1, 2000)`)
	s.sql(`insert into bellhop.dependency (job, needs) select g, g - 1 from generate_series(2, 2000) g`)
	if lines := strings.Count(s.ok("graph", "1000"), "\n"); lines != 2001 {
		t.Errorf("%d lines", lines)
	}
	s.sql(`insert into bellhop.jobqueue (type) select 'wide' from generate_series(1, 1002)`)
	s.sql(`insert into bellhop.dependency (job, needs) select g, 2001 from generate_series(2002, 3001) g union all select 3002, g from generate_series(2002, 3001) g`)
	if lines := strings.Count(s.ok("graph", "3002"), "\n"); lines != 1+1+1000+1000 {
		t.Errorf("%d lines", lines)
	}
}
