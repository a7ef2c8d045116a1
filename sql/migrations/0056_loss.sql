-- Works from: 0051
-- What another server did not have when it took over: told by each instance that ran something of it, until an operator
-- has read it (bellhop.loss_seen).
create table bellhop.loss (
  id       bigint generated always as identity primary key,
  at       timestamptz not null default clock_timestamp(),
  instance bigint      not null,
  name     text        not null, -- the instance's
  was      text        not null, -- the server before, as bellhop.server_now() says it
  server   text        not null,
  gone     bigint      not null, -- runs of this instance whose jobs have no row any more
  again    bigint      not null, -- runs whose outcome or claim is gone: their jobs run again
  behind   interval,             -- the database went back by at least so much; NULL: it is not known that it did
  seen_at  timestamptz,
  seen_by  text
);
create index loss_unseen on bellhop.loss (id) where seen_at is null;
revoke all on bellhop.loss from public;
do $$
begin
  if exists (select from pg_roles where rolname = 'bellhop_scheduler') then
    grant select on bellhop.loss to bellhop_reader, bellhop_operator;
    grant select, insert, update, delete on bellhop.loss to bellhop_scheduler;
  end if;
end
$$;
