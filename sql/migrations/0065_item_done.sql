-- Works from: 0051
-- Items of queries that their agents have ended in transactions of their own (bellhop.finish_item, ../functions/workers.sql).
create table bellhop.item_done (
  job  bigint not null,
  item text   not null, -- its name among the items of the job, by its agent
  primary key (job, item)
);
comment on table bellhop.item_done is 'Items of queries that are done, by bellhop.finish_item.';
revoke all on bellhop.item_done from public;

do $$
begin
  if exists (select from pg_roles where rolname = 'bellhop_scheduler') then
    grant select, delete on bellhop.item_done to bellhop_scheduler;
  end if;
end
$$;
