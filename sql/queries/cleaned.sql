-- Their files are gone (trouble empty), or why not. $1 jobs, $2 troubles. Index: the primary key.
update bellhop.rjm r
   set state = case when o.trouble = '' then 'old' else r.state end, trouble = nullif(o.trouble, '')
  from unnest($1::bigint[], $2::text[]) as o (job, trouble)
 where r.job = o.job and r.state = 'dusting'
