-- Failed items of a job, those of the last claim first; with their lines if the caller may see them. $1 id, $2 how many
-- at most. Guard: none, it only reads. Index: item's primary key.
select i.fence, i.item, i.line, i.tries, i.exit_code, i.error, i.at
  from bellhop.failed_item i
 where i.job = $1
 order by i.fence desc, i.item
 limit $2::bigint
