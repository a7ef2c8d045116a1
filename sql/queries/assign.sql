-- Gives workflows, $1, to instances, $2 (0: to none), and tells them. A workflow that an app has locked keeps its owner
-- until the next time. Guard: the advisory lock of assign_turn. Index: the primary key.
with moved as (
  update bellhop.workflow w
     set instance = nullif(m.instance, 0)
    from unnest($1::text[], $2::bigint[]) m (name, instance)
   where w.name = m.name
     and w.name = any (array(select x.name from bellhop.workflow x where x.name = any ($1::text[]) order by x.name for no key update skip locked))
  returning w.name
)
select pg_notify('bellhop_due', '') where exists (select from moved)
