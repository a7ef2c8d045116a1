-- What an edit has to know of jobs to seal their new args and vars, for operators and the jobs' submitters: $1 ids. Of
-- each text it is the beginning, which names the key of an envelope. Guard: none, it only reads. Index: the primary key.
select j.id, j.type, j.key, left(p.args, 200) as args,
       (select jsonb_object_agg(v.key, left(v.value, 200)) from jsonb_each_text(p.vars) v) as vars
  from bellhop.payload p
  join bellhop.job j on j.id = p.id
 where p.id = any ($1::bigint[])
