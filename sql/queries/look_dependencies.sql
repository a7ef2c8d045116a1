-- The dependencies among jobs. $1 ids. Guard: bellhop.edges, which shows readers all and submitters their own. Indexes: its own.
select e.job, e.needs, e.wanted, e.met from bellhop.edges($1::bigint[]) e order by e.job, e.needs
