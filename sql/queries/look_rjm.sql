-- `rjmls`: RJM's jobs under RJM's words. $1 states, $2 types (NULL: all). Index: the primary keys, all of bellhop.rjm.
select x.* from (
  select j.id as job, j.key as id,
         case when j.state = 'held' then 'wait'
              when j.state in ('blocked', 'scheduled', 'ready') then 'ready'
              when j.state in ('assigned', 'running') then 'run'
              when j.state = 'succeeded' then r.state
              else 'failed' end as state,
         coalesce(j.priority_name, 'n') as prio, j.host, j.exit_code as rc, j.unmet, r.trouble
    from bellhop.rjm r join bellhop.job j on j.id = r.job
   where $2::text[] is null or j.type = any ($2::text[])) x
 where x.state = any ($1::text[])
 order by array_position(array['wait', 'ready', 'run', 'failed', 'done', 'dusting', 'old'], x.state), x.prio collate "C", x.id collate "C"
