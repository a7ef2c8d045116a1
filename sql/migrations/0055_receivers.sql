-- Works from: 0051
-- Messages to one receiver (a host of webhooks, the server of mail, a command) are found by it, so that one that hangs keeps none
-- from another; and URLs that have answered 410 Gone are kept, to which nothing is posted any more.
-- Locks: ACCESS EXCLUSIVE on bellhop.notice while its rows are written once more.
alter table bellhop.notice
  add column receiver text not null generated always as (
    left(case channel when 'webhook' then 'webhook ' || lower(coalesce(substring(target from '^[A-Za-z]+://([^/?#]*)'), ''))
                      when 'mail' then 'mail' else 'command ' || target end, 300)) stored;
create index notice_receiver on bellhop.notice (receiver, next_at) where status = 'waiting';

create table bellhop.notice_gone (
  target text        not null,
  at     timestamptz not null default clock_timestamp(),
  exclude using hash (target with =) -- a URL may be longer than a row of a B-tree
);
comment on table bellhop.notice_gone is 'URLs of webhooks that have answered 410 Gone.';

do $$
begin
  if exists (select from pg_roles where rolname = 'bellhop_scheduler') then
    grant select, insert, update, delete on bellhop.notice_gone to bellhop_scheduler;
    grant select on bellhop.notice_gone to bellhop_operator;
    grant select (receiver) on bellhop.notice to bellhop_operator;
  end if;
end
$$;
