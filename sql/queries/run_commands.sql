-- Carries out the commands that wait, ends dummies, and returns what operators want now, whether tables are attached,
-- in how many ms the next job with locks is to be reserved for (infinity: none; NULL: there are no such jobs), when an instance has to look at sensors and when at messages (NULL: never), which
-- sensors it watches (another number: others), whether there are operations that no instance works on, how many
-- instances live, and whether promises are open. $1 instance, $2 after how many ms a waiting job is reserved (0: never). It also writes counts for
-- sketches (bellhop.sketch_in; NULL: none): $3 what, $4 names, $5 buckets, $6 counts.
-- Index: jobqueue_ready; jobqueue_locked; sensor_next, event_open; sensor_watched; notice_open; operation_open; promise_open; instance_live; the primary keys.
select bellhop.obey($1) + bellhop.pass_dummies(),
       (select coalesce(array_agg(p.type order by p.type), '{}') from bellhop.paused p),
       coalesce((select i.stop from bellhop.instance i where i.id = $1 and i.state = 'live'), ''),
       exists (select from bellhop.attachment),
       (select coalesce(u.next_in, 'infinity') from bellhop.locks_round($2) u where u.locked),
       bellhop.sensors_next($1),
       bellhop.notices_next($1),
       bellhop.sketch_in($3, $4, $5, $6),
       coalesce(bellhop.watched($1), 0),
       exists (select from bellhop.operation o
                where o.state in ('running', 'stopping') and coalesce(o.worked_at, o.started_at) < clock_timestamp() - interval '15 s'),
       (select count(*) from bellhop.instance i where i.state = 'live'),
       exists (select from bellhop.promise p where p.outcome is null)
