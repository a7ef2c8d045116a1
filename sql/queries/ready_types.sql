-- The types that have ready jobs, one index probe each. Index: jobqueue_ready.
with recursive t as (
  (select type from bellhop.jobqueue where state = 'ready' and not held order by type limit 1)
  union all
  select (select j.type from bellhop.jobqueue j where j.state = 'ready' and not j.held and j.type > t.type order by j.type limit 1)
    from t where t.type is not null
)
select type from t where type is not null
