-- Why a job does not run, or how it ended. $1 id. Indexes: the primary key; those of what holds it.
select e.code, e.sentence, e.next from bellhop.explanation($1) with ordinality e (code, sentence, next, n) order by e.n
