-- How big the tables that grow are. Estimates of the server's own statistics.
select 'bellhop.' || c.relname as name, pg_total_relation_size(c.oid) as bytes, greatest(c.reltuples, pg_stat_get_live_tuples(c.oid), 0)::bigint as rows,
       coalesce(pg_stat_get_dead_tuples(c.oid), 0) as dead
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
 where n.nspname = 'bellhop' and c.relname in ('jobqueue', 'log', 'item', 'attempt_past', 'dependency')
 order by bytes desc
