-- Carries out the commands that wait, ends dummies, and tells what operators want now, and whether tables are attached. $1 instance.
-- Index: jobqueue_ready; the primary keys.
select bellhop.obey($1) + bellhop.pass_dummies(),
       (select coalesce(array_agg(p.type order by p.type), '{}') from bellhop.paused p),
       coalesce((select i.stop from bellhop.instance i where i.id = $1 and i.state = 'live'), ''),
       exists (select from bellhop.attachment)
