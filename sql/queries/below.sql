-- The transactions that inserted jobs which are ready although a snapshot showed them, and how many jobs of each: what
-- claims above the snapshot (claim_above.sql) do not find. It walks past old index entries that cannot be cleaned away,
-- so it has a connection of its own.
-- $1 types, $2 the snapshot's xmax, $3 its transactions under way, $4 how many jobs of each type at the most.
-- Guard: none, it only reads.
-- Index: jobqueue_ready (type, priority, id) through startable; the primary key.
select f.txid::text, count(*)
  from unnest($1::text[]) as d (type)
 cross join lateral (
   select s.txid
     from (select r.priority, r.id, (select q.txid from bellhop.jobqueue q where q.id = r.id) as txid
             from bellhop.startable r
            where r.type = d.type and r.run_on is null) s
    where s.txid < $2::text::xid8 and s.txid::text <> all ($3::text[])
    order by s.priority, s.id
    limit $4) f
 group by f.txid
