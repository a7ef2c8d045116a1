-- The steps of the last 25 runs of a workflow that were not skipped, among its last 200. $1 workflow. At most 60 steps of
-- each. Guard: none, it only reads. Indexes: run_of; those of run_step.
select r.id as run, r.state as ended, r.started_at, r.ended_at, s.step, s.job, s.state, s.attempt
  from (select x.* from (select y.id, y.state, y.started_at, y.ended_at from bellhop.run y where y.workflow = $1::text order by y.id desc limit 200) x
         where x.state not in ('skipped', 'queued') order by x.id desc limit 25) r
 cross join lateral (select z.step, z.job, z.state, z.attempt from bellhop.run_step z where z.run = r.id and z.step is not null order by z.job limit 60) s
 order by r.id, s.job
