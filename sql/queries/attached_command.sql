-- The command of a row's job ($1). It comes from the attachment, never from the job, which any submitter can write. No
-- row if the job belongs to no attachment. Index: attached_job; the primary key.
select a.cmd, coalesce(a.workdir, ''), coalesce(a.log_dir, ''), a.name, coalesce(format('%I.%I', n.nspname, c.relname), a.name), x.key, coalesce(x.row_text, '')
  from bellhop.attached x
  join bellhop.attachment a on a.id = x.attachment
  left join pg_class c on c.oid = a.rel::oid
  left join pg_namespace n on n.oid = c.relnamespace
 where x.job = $1 and x.live and a.cmd is not null
