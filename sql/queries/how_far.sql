-- The progress of jobs, as their agents report it: all of an instance in one statement, at most once a second.
-- $1 instance, arrays: $2 id, $3 fence, $4 done (NULL: as it is), $5 text (empty: none).
-- Guard: still ours under this fence. Index: the primary key; `|| ''` prevents use of jobqueue_taken, which still has
-- all rows that ran since the last VACUUM.
update bellhop.jobqueue j
   set progress = coalesce(o.done, j.progress), progress_text = nullif(o.text, '')
  from unnest($2::bigint[], $3::bigint[], $4::real[], $5::text[]) as o (id, fence, done, text)
 where j.id = any ($2) and j.id = o.id and j.fence = o.fence and j.instance = $1 and j.state || '' in ('running', 'assigned')
