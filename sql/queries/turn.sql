-- One turn of an attachment ($1): outcomes into the user's table, rows out of it. turn_of stands for its function,
-- whose name is put in: it is code of others, which no function of ours may call. Guard: FOR UPDATE SKIP LOCKED on the
-- attachment, then on its rows.
-- Index: the primary key; attached_live; set_aside's.
select r.taken, r.ended, r.aside, r.ahead
  from bellhop.turn_open($1) o
 cross join lateral (
   select pg_catalog.array_agg(t.what::pg_catalog.text order by t.o) as whats, pg_catalog.array_agg(t.key::pg_catalog.text order by t.o) as keys,
          pg_catalog.array_agg(t.line::pg_catalog.text order by t.o) as lines, pg_catalog.array_agg(t.row_text::pg_catalog.text order by t.o) as rows_
     from bellhop_attached.turn_of(o.done, o.n, o.busy) with ordinality t (what, key, line, row_text, o)) t
 cross join lateral bellhop.turn_record($1, t.whats, t.keys, t.lines, t.rows_) r
