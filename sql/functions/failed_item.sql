-- failed_item: the failed items of queries. Their lines, and what agents said about them, are for operators and the
-- job's submitter; others see that they failed.
create or replace view bellhop.failed_item with (security_barrier) as
  select i.job, i.fence, i.item, case when o.own then i.line end as line, i.tries, i.exit_code, case when o.own then i.error end as error, i.at
    from bellhop.item i
   cross join lateral (select (select bellhop.is_operator())
          or coalesce((select q.submitted_by from bellhop.jobqueue q where q.id = i.job) = any ((select bellhop.own_roles())::text[]), false) as own) o
   where (select bellhop.is_reader()) or o.own;

revoke all on bellhop.failed_item from public;
do $$
begin
  if exists (select from pg_roles where rolname = 'bellhop_scheduler') then
    grant select on bellhop.failed_item to bellhop_submitter, bellhop_reader, bellhop_operator, bellhop_scheduler;
  end if;
end
$$;
