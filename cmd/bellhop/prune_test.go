package main

import (
	"strings"
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
	s.fails(cli.ExitUsage, "has not ended", "prune", "-s", "ready")
}

func TestPrune_BetweenTwoTimes(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	for _, day := range []string{"2026-01-01", "2026-02-01", "2026-03-01", "2026-03-31 23:59:59.999", "2026-04-01"} {
		s.sql("update bellhop.jobqueue set state = 'succeeded', ended_at = '" + day + " UTC' where id = " + s.id("a", day))
	}
	between := []string{"prune", "--since", "2026-02-01", "--until", "2026-04-01"}
	has(t, s.ok(append(between, "--dry-run", "-o", "json")...), `"jobs": 3`, `"first": 2`, `"last": 4`)
	has(t, s.ok("prune", "--until", "2026-01-01", "--dry-run"), "nothing would be deleted")
	has(t, s.ok(append(between, "-s", "failed")...), "0 deleted")
	has(t, s.ok(between...), "3 deleted")
	has(t, s.ok("prune", "--since", "2026-04-01", "--older-than", "0s"), "1 deleted")
	has(t, s.ok("prune", "--until", "0s"), "1 deleted") // so long ago
	s.fails(cli.ExitUsage, "both set the latest end", "prune", "--older-than", "3d", "--until", "2026-04-01")
	s.fails(cli.ExitUsage, "no time is since", "prune", "--since", "2026-04-01", "--until", "2026-04-01")
	s.fails(cli.ExitUsage, "no time is since", "prune", "--since", "1d") // and over for three
	s.fails(cli.ExitUsage, "--since 2026-01-02", "prune", "--since", "spring")
}

func TestPrune_WritesToAnArchive(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	for _, id := range []string{s.id("a", "one"), s.id("a", "two")} {
		s.sql("update bellhop.jobqueue set state = 'succeeded', ended_at = '2026-01-01 UTC' where id = " + id)
		s.sql("insert into bellhop.log (job, level, line) values (" + id + ", 'info', 'said')")
	}
	into := []string{"prune", "--until", "2026-02-01", "--archive", "old.jobs"}
	s.fails(cli.ExitUsage, `create table old.jobs (job bigint, "row" jsonb)`, into...)
	s.sql("create schema old")
	s.sql(`create table old.jobs (job bigint, "row" jsonb, at timestamptz default now())`)
	s.sql("alter table old.jobs add check (job <> 2)")
	s.fails(cli.ExitUsage, "jobs_job_check", into...) // nothing is deleted that is not written
	has(t, s.ok("show", "1"), "one")
	s.sql("alter table old.jobs drop constraint jobs_job_check")
	has(t, s.ok(append(into, "--dry-run")...), "2")
	has(t, s.ok(into...), "2 deleted, and written to old.jobs")
	var text string
	if err := s.conn.QueryRow(t.Context(), `select string_agg(job || ' ' || ("row" ->> 'args') || ' ' || ("row" #>> '{log,0,line}'), ', ' order by job)
		from old.jobs`).Scan(&text); err != nil || text != "1 one said, 2 two said" {
		t.Errorf("archived: %s (%v)", text, err)
	}
}

// The archive is written with the rights of who prunes, not with those of the schema's owner.
func TestPrune_AnArchiveIsTheCallers(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	s.sql("update bellhop.jobqueue set state = 'succeeded', ended_at = '2026-01-01 UTC' where id = " + s.id("a"))
	s.sql(`create schema old create table jobs (job bigint, "row" jsonb)`)
	into := []string{"prune", "--archive", "old.jobs", "--database-url", s.url + "&options=-c%20role%3Dbellhop_operator"}
	if r := command(into...); r.code != cli.ExitDenied {
		t.Errorf("%+v", r)
	}
	s.sql("grant usage on schema old to bellhop_operator")
	if r := command(into...); r.code != cli.ExitDenied {
		t.Errorf("%+v", r)
	}
	s.sql("grant insert on old.jobs to bellhop_operator")
	if r := command(into...); !strings.Contains(r.stdout, "1 deleted") {
		t.Errorf("%+v", r)
	}
}
