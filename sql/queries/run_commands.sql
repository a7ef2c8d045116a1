-- Carries out the commands that wait, ends dummies, and tells what operators want now, whether tables are attached, whether
-- there are jobs with locks, and when somebody has to look at sensors (NULL: nobody has to). $1 instance, $2 after how many ms a waiting job is reserved for (0: never).
-- Index: jobqueue_ready; jobqueue_locked; sensor_next, event_open; the primary keys.
select bellhop.obey($1) + bellhop.pass_dummies(),
       (select coalesce(array_agg(p.type order by p.type), '{}') from bellhop.paused p),
       coalesce((select i.stop from bellhop.instance i where i.id = $1 and i.state = 'live'), ''),
       exists (select from bellhop.attachment),
       bellhop.locks_upkeep($2),
       bellhop.sensors_next($1)
