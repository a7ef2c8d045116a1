-- Why some jobs wait: the first reason of each, and whether waiting alone does not change it. $1 ids. Indexes: the
-- primary key; those of what holds them.
select j.id, e.code, e.sentence, e.next, exists (select from bellhop.causes() c where c.code = e.code and c.of = 'waiting' and c.stuck) as stuck
  from unnest($1::bigint[]) j (id)
 cross join lateral (select x.code, x.sentence, x.next from bellhop.explanation(j.id) with ordinality x (code, sentence, next, n) order by x.n limit 1) e
