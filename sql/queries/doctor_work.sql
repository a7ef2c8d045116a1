-- Types whose jobs go badly. $1 how long ago a job may have ended to count, in seconds; $2 how old a finished job has to be, in
-- seconds, to be called old. Reads the whole queue: for people, not for loops.
select j.type,
       count(*) filter (where recent and j.state in ('failed', 'quarantined')) as failed,
       count(*) filter (where recent and j.state = 'succeeded') as succeeded,
       count(*) filter (where j.state = 'ready') as ready,
       coalesce(bool_or(j.state = 'ready' and j.waiting_for like 'unknown_type%'), false) as unknown,
       count(*) filter (where j.ended_at < clock_timestamp() - make_interval(secs => $2)) as old,
       min(j.ended_at) as oldest
  from (select q.type, q.state, q.waiting_for, q.ended_at, q.ended_at > clock_timestamp() - make_interval(secs => $1) as recent from bellhop.job q) j
 group by j.type
 order by j.type
