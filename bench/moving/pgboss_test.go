package moving_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// installed prints the statements by which the pg-boss that node finds makes its tables.
const installed = `const path = require.resolve('pg-boss')
import(require('url').pathToFileURL(path)).then(({ default: boss, getConstructionPlans: plans }) =>
  console.log(plans ? plans() : boss.getConstructionPlans('pgboss')))`

// bosses are the tables to move from. Those of testdata have the names and types of the real ones, and stand for them
// where no pg-boss is installed.
var bosses = map[string]func(t *testing.T) string{
	"as in version 10": func(t *testing.T) string { return testdata(t, "pgboss10.sql") },
	"as in version 12": func(t *testing.T) string { return testdata(t, "pgboss10.sql") + testdata(t, "pgboss12.sql") },
	"of pg-boss itself": func(t *testing.T) string {
		out, err := exec.CommandContext(t.Context(), "node", "-e", installed).Output()
		if err != nil {
			t.Skip("NOT TESTED: the tables that pg-boss itself makes; type `npm install pg-boss`, and let NODE_PATH name node_modules")
		}
		return string(out)
	},
}

func testdata(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// boss has these tables, and a few queues.
func boss(t *testing.T, tables string) *queues {
	t.Helper()
	q := setup(t, "pgboss.sql")
	q.sql(tables,
		`select pgboss.create_queue(n, '{"policy": "standard"}') from unnest('{mail,sync,fifo,one,dummy}'::text[]) n`,
		`select pgboss.create_queue('report', '{"policy": "stately"}')`)
	return q
}

const bossJobs = `insert into pgboss.job
	(id, created_on, name, policy, state, data, priority, retry_limit, retry_count, started_on, start_after, singleton_key, singleton_on, keep_until, completed_on)
	select format('00000000-0000-0000-0000-%s', lpad(n::text, 12, '0'))::uuid, timestamptz '2026-01-01' + n * interval '1 s', name, policy, state::pgboss.job_state,
	       data::jsonb, priority, retry_limit, retry_count, started_on::timestamptz, start_after::timestamptz, singleton_key, singleton_on::timestamp, keep_until::timestamptz,
	       case when state in ('completed', 'failed') then now() end
	  from (values
	(1, 'mail', 'standard', 'created', '{"to": "a\nb"}', 0, 2, 0, null, '2026-01-01', null, null, '2999-01-01'),
	(2, 'mail', 'standard', 'created', '"text"', 5, 0, 0, null, '2026-01-01', 'a label', null, '2999-01-01'),
	(3, 'mail', 'standard', 'created', null, 21, 2, 0, null, '2998-01-01', null, null, '2999-01-01'),
	(4, 'mail', 'standard', 'retry', '{"n": 1.50}', -30, 5, 2, '2026-01-01', '2998-01-02', null, null, '2999-01-01'),
	(5, 'mail', 'standard', 'active', '{}', 0, 2, 0, '2026-01-01', '2026-01-01', null, null, '2999-01-01'),
	(6, 'mail', 'standard', 'created', '{}', 0, 2, 0, null, '2026-01-01', null, null, '2026-01-02'),
	(7, 'mail', 'standard', 'completed', '{}', 0, 2, 0, '2026-01-01', '2026-01-01', null, null, '2999-01-01'),
	(8, 'mail', 'standard', 'failed', '{}', 0, 2, 2, '2026-01-01', '2026-01-01', null, null, '2999-01-01'),
	(9, 'mail', 'standard', 'created', '{}', 0, 2, 0, null, '2026-01-01', 'daily', '2026-11-27 10:00:00', '2999-01-01'),
	(10, 'report', 'stately', 'created', '{}', 0, 2, 0, null, '2026-01-01', 'k', null, '2999-01-01'),
	(11, 'report', 'stately', 'retry', '{}', 0, 2, 0, '2026-01-01', '2026-01-01', 'k', null, '2999-01-01'),
	(12, 'report', 'stately', 'created', '{}', 0, 2, 0, null, '2026-01-01', null, null, '2999-01-01'),
	(13, 'sync', 'short', 'created', '{}', 0, 2, 0, null, '2026-01-01', null, null, '2999-01-01'),
	(14, 'one', 'singleton', 'created', '{}', 0, 2, 0, null, '2026-01-01', 's', null, '2999-01-01'),
	(15, 'fifo', 'key_strict_fifo', 'created', '{}', 0, 2, 0, null, '2026-01-01', 'f', null, '2999-01-01'),
	(16, 'dummy', 'standard', 'created', '{}', 0, 2, 0, null, '2026-01-01', null, null, '2999-01-01')
	) as j (n, name, policy, state, data, priority, retry_limit, retry_count, started_on, start_after, singleton_key, singleton_on, keep_until)`

const (
	bossRows = "select to_jsonb(j)::text from pgboss.job j order by id"
	bossIDs  = "select name || ' ' || ltrim(right(id::text, 12), '0') from pgboss.job order by id"
)

var bossKept = []string{"mail 5", "mail 6", "mail 7", "mail 8", "report 11", "fifo 15", "dummy 16"}

func TestPgBoss_OpenJobsMoveAndComeBack(t *testing.T) {
	t.Parallel()
	for name, tables := range bosses {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := boss(t, tables(t))
			q.sql(bossJobs, "update pgboss.job set dead_letter = 'sync', retry_delay = 7 where singleton_key = 'a label'",
				"insert into pgboss.schedule (name, cron) values ('mail', '* * * * *')")
			before := q.lines(bossRows)
			says := []string{
				"mail | 5 | 2 | 1 | 0", "one | 1 | 0 | 0 | 1", "report | 2 | 0 | 2 | 2", "sync | 1 | 0 | 1 | 0",
				"an older open job has its key | 1", "it has expired (keep_until), and pg-boss will delete it | 1", "it runs | 1",
				"its queue is the name of a type that bellhop needs itself | 1", "the policy of its queue is key_strict_fifo | 1",
				"a priority outside of -19 to 20: it becomes the nearest one | 2",
				"a singleton key that the policy of its queue does not use | 1",
				"schedules of queues: write workflows (from_cron.md) | 1",
				"the dead letter queue: a failed job stays in the queue, and `bellhop retry` runs it again | 1",
				"the pause between attempts: write `retry` for the type | 1",
			}
			q.run(nil, append(says, "Nothing has changed. To move them: -v go=move")...)
			q.is("pg-boss's jobs when they are counted", bossRows, before...)
			q.is("bellhop's jobs when they are counted", moved)

			q.run([]string{"go=move"}, append(says, "They have moved.")...)
			q.is("bellhop's jobs", moved,
				`mail ready {"to": "a\nb"} priority 0 attempts 3 timeout 00:15:00`,
				`mail ready "text" priority -5 attempts 1 timeout 00:15:00`,
				`mail scheduled priority -20 attempts 3 timeout 00:15:00`,
				`mail scheduled {"n": 1.50} priority 19 attempts 3 timeout 00:15:00`,
				`mail ready {} priority 0 attempts 3 key mail.daily@2026-11-27T10:00:00Z timeout 00:15:00`,
				`report ready {} priority 0 attempts 3 key report.k reasons {rate-limit:1:report.k} timeout 00:15:00`,
				`report ready {} priority 0 attempts 3 key report reasons {rate-limit:1:report} timeout 00:15:00`,
				`sync ready {} priority 0 attempts 3 key sync timeout 00:15:00`,
				`one ready {} priority 0 attempts 3 reasons {rate-limit:1:one.s} timeout 00:15:00`)
			q.is("their times", "select run_at::date::text from bellhop.jobqueue where run_at is not null order by id", "2998-01-01", "2998-01-02")
			q.is("their ends", "select distinct not_after::date::text from bellhop.jobqueue", "2999-01-01")
			q.is("pg-boss's jobs", bossIDs, bossKept...)
			q.run([]string{"go=move"}, "an open job of bellhop has its key | 1", "They have moved.")
			q.is("the number of bellhop's jobs after a second move", "select count(*)::text from bellhop.jobqueue", "9")

			q.sql("update bellhop.jobqueue set attempt = 1 where type = 'one'")
			q.run([]string{"go=back", "queues=mail,one"}, "Jobs that are pg-boss's again: 5", "ready | 4")
			q.is("pg-boss's jobs that are back", "select to_jsonb(j)::text from pgboss.job j where name = 'mail' order by id", before[:9]...)
			q.is("bellhop's jobs then", "select type from bellhop.jobqueue where state <> 'cancelled' order by id", "report", "report", "sync", "one")
		})
	}
}

// What only newer versions have.
func TestPgBoss_FlowsGroupsAndHeartbeats(t *testing.T) {
	t.Parallel()
	for name, tables := range bosses {
		if name == "as in version 10" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := boss(t, tables(t))
			if len(q.lines("select attname from pg_attribute where attrelid = 'pgboss.job'::regclass and attname = 'blocking'")) == 0 {
				t.Skip("this version of pg-boss has no flows")
			}
			q.sql(`insert into pgboss.job (name, data, expire_seconds, heartbeat_seconds, group_id, group_tier, blocked, blocking) values
				('mail', '1', 90, 10, 'acme', 'gold', false, false),
				('mail', '2', 900, null, null, null, true, false),
				('mail', '3', 900, null, null, null, false, true)`)
			q.run([]string{"go=move"}, "mail | 1 | 0 | 0 | 0", "it is a part of a flow | 2",
				"the heartbeat: the guard of the agent, or the lease of the worker, replaces it | 1", "the tier of its group: write a filter for the share | 1")
			q.is("bellhop's jobs", moved, `mail ready 1 priority 0 attempts 3 share acme timeout 00:01:30`)
		})
	}
}

func TestPgBoss_OneTransaction(t *testing.T) {
	t.Parallel()
	q := boss(t, bosses["as in version 12"](t))
	q.sql(bossJobs, "create function stop() returns trigger language plpgsql as $$ begin raise 'not now'; end $$",
		"create trigger stop before delete on pgboss.job for each row when (old.name = 'report') execute function stop()")
	before := q.lines(bossRows)
	q.refused("not now", "go=move")
	q.is("pg-boss's jobs", bossRows, before...)
	// A worker of pg-boss has locked a job that it is about to run. The move does not wait for that.
	q.hold("select 1 from pgboss.job where data = '\"text\"' for update", func() {
		q.run([]string{"go=move", "queues=mail,sync"}, "another transaction has it, or has just brought it | 1", "They have moved.")
	})
	q.is("types that have moved", "select type || count(*) from bellhop.jobqueue group by type order by type", "mail4", "sync1")
}

func TestPgBoss_WhatIsRefused(t *testing.T) {
	t.Parallel()
	q := setup(t, "pgboss.sql")
	q.refused("there is no table job of pg-boss 10 or newer in the schema pgboss", "go=move")
	q.sql("create schema pgboss", "create table pgboss.job (id uuid, startafter timestamptz)")
	q.refused("upgrade pg-boss first", "go=move")
	q.sql("drop schema pgboss cascade", strings.ReplaceAll(testdata(t, "pgboss10.sql"), "pgboss", "boss"))
	q.refused(`go is "on"`, "schema=boss", "go=on")
	q.refused("there is no table job_moved", "schema=boss", "go=back")
	q.run([]string{"schema=boss"}, "Nothing has changed. To move them: -v go=move")
}

// A queue whose name no agent can have moves, and is named.
func TestPgBoss_NamesForWorkers(t *testing.T) {
	t.Parallel()
	q := boss(t, bosses["as in version 10"](t))
	q.sql(`select pgboss.create_queue('send.mail', '{"policy": "standard"}')`,
		"insert into pgboss.job (name, data) values ('send.mail', '1'), ('send.mail', '2'), ('mail', '3')")
	q.run([]string{"go=move"}, "send.mail | 2 | 0 | 0 | 0", "an agent for queue 'send.mail': its name "+
		"has other characters than letters, digits and _ - :, so that only a worker can take its jobs | 2")
	q.is("types that have moved", "select type || count(*) from bellhop.jobqueue group by type order by type", "mail1", "send.mail2")
}
