-- What another server knows of runs: $1 ids, $2 fences, $3 when their jobs were submitted, $4 whether they were
-- recorded as over. 0: all is there; 1: the claim or the outcome is missing, and the job runs again; 2: there is no
-- such row. An outcome is there too if it is kept beside a later run: a retry keeps it. Else the later run repeats it.
-- Guard: none, it only reads. Index: the primary key, and that of attempt_past.
select case when j.id is null then 2
            when j.fence < o.fence or o.over and j.fence = o.fence and j.state in ('assigned', 'running') then 1
            when o.over and j.fence > o.fence and not exists (select from bellhop.attempt_past p where p.job = j.id and p.fence = o.fence) then 1
            else 0 end
  from unnest($1::bigint[], $2::bigint[], $3::timestamptz[], $4::bool[]) with ordinality as o (id, fence, created_at, over, n)
  left join bellhop.jobqueue j on j.id = o.id and j.created_at = o.created_at
 order by o.n
