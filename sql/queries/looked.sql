-- An instance ($1) reports a look at all of the queue: where an earlier look began, since which it has asked for all
-- jobs that it could take ($2; NULL: not known), and why it claims nothing just now ($3; NULL: it does) and since when
-- ($4).
-- Guard: a row that is locked is left for the next look. Index: the primary key.
update bellhop.instance
   set looked = coalesce($2::text::xid8, looked), looked_at = case when $2::text is null then looked_at else clock_timestamp() end,
       standstill = $3, standstill_since = $4
 where id = (select i.id from bellhop.instance i where i.id = $1 for no key update skip locked) and ($2::text is not null or standstill is distinct from $3 or standstill_since is distinct from $4)
