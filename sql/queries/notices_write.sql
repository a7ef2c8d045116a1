-- Messages of an end $1 that are to be sent: $2 channels, $3 targets, $4 what each needs, $5 last success, $6 project, $7 how long they are tried,
-- in ms; and the end is done with. Guard: the caller has locked it. Index: run_end's primary key.
with e as (
  delete from bellhop.run_end x where x.id = $1 returning x.run, x.workflow, x.state, x.reason, x.at
)
insert into bellhop.notice (run, workflow, project, state, reason, ended_at, last_success, channel, target, needs, until)
select e.run, e.workflow, $6, e.state, e.reason, e.at, $5, l.channel, l.target, l.needs, clock_timestamp() + $7 * interval '1 ms'
  from e cross join unnest($2::text[], $3::text[], $4::text[]) as l (channel, target, needs)
