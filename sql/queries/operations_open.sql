-- Operations that are to be carried out, and the role of each; $1: only those that no instance works on. Guard: none,
-- each batch locks. Index: operation_open.
select o.id, o.planned_by as role from bellhop.operation o
 where o.state in ('running', 'stopping') and (not $1::boolean or coalesce(o.worked_at, o.started_at) < clock_timestamp() - interval '15 s')
 order by o.id
