-- The messages about an end $1: $2 channels, $3 targets, $4 what each needs, $5 last success, $6 project, $7 how long
-- they are tried, in ms; then the end is deleted. A message for a URL that is gone is given up at once. Guard: the
-- caller has locked it. Index: run_end's primary key.
with e as (
  delete from bellhop.run_end x where x.id = $1 returning x.run, x.workflow, x.state, x.reason, x.at
)
insert into bellhop.notice (run, workflow, project, state, reason, ended_at, last_success, channel, target, needs, until, status, sent_at, error)
select e.run, e.workflow, $6, e.state, e.reason, e.at, $5, l.channel, l.target, l.needs, clock_timestamp() + $7 * interval '1 ms',
       case when g.target is null then 'waiting' else 'given_up' end, case when g.target is not null then clock_timestamp() end,
       'not posted: this URL answered 410 Gone at ' || to_char(g.at at time zone 'UTC', 'YYYY-MM-DD HH24:MI "UTC"')
  from e cross join unnest($2::text[], $3::text[], $4::text[]) as l (channel, target, needs)
  left join bellhop.notice_gone g on l.channel = 'webhook' and g.target = l.target
