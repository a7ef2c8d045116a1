package main

import (
	"testing"

	"bellhop/cmd/bellhop/internal/cli"
)

func TestPrune_DeletesWhatIsOverAndNobodyWaitsFor(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	done, failed, young, waits := s.id("a"), s.id("a"), s.id("a"), s.id("a")
	s.id("a", "--after", failed, "--on-failure", "block")
	child := s.id("a", "--after", done)
	s.sql("insert into bellhop.log (job, level, line) select id, 'info', 'x' from bellhop.jobqueue")
	for _, id := range []string{done, failed, young} {
		s.sql("update bellhop.jobqueue set state = 'succeeded', ended_at = clock_timestamp() where id = " + id)
		s.sql("select bellhop.ended(array[" + id + "::bigint])")
	}
	s.sql("update bellhop.jobqueue set state = 'failed' where id = " + failed)
	s.sql("update bellhop.dependency set met = false where needs = " + failed)
	s.sql(
		"update bellhop.jobqueue set ended_at = ended_at - interval '4 days' where ended_at is not null and id <> " + young)
	s.sql("update bellhop.jobqueue set state = 'blocked', unmet = 1 where id = 5")
	has(t, s.ok("prune"), "1 deleted")
	s.fails(cli.ExitNotFound, "no job "+done, "show", done)
	has(t, s.ok("show", child), "ready")                                // and it needs nothing more
	has(t, s.ok("prune", "-s", "failed", "-o", "json"), `"deleted": 0`) // somebody waits for it
	s.ok("cancel", "5")
	has(t, s.ok("prune", "-s", "failed"), "1 deleted")
	has(t, s.ok("prune", "--older-than", "0s"), "2 deleted")
	s.ok("show", waits)
	s.fails(cli.ExitUsage, "3d, 36h", "prune", "--older-than", "soon")
	s.fails(cli.ExitUsage, "not over", "prune", "-s", "ready")
}
