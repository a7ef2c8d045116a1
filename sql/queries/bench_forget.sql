-- Deletes up to $3 jobs of a type that only a measurement uses, from an id on, with all that is kept about them;
-- returns how many. $1 type, $2 id. Guard: running jobs stay. Index: the primary key.
select bellhop.jobs_forgotten(array(
  select j.id from bellhop.jobqueue j
   where j.id >= $2 and j.type = $1 and j.state not in ('assigned', 'running')
   order by j.id limit $3 for update skip locked))
