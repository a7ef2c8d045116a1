-- The jobs that have succeeded last, and under which fence. Guard: none; it reads.
select j.id, j.fence from bellhop.jobqueue j where j.state = 'succeeded' order by j.ended_at desc limit 50
