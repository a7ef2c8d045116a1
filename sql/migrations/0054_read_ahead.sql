-- Rows of attached tables that are quick are taken ahead of a free place, so that the pool is never empty between two turns; and an
-- attachment knows how many rows wait, how many are done, and how many end in a second.

-- ahead: the row was taken, and waits for a place of the pool: in this order. Its job is blocked until then.
create sequence bellhop.row_order;
alter table bellhop.attached add column ahead bigint;
create index attached_ahead on bellhop.attached (attachment, ahead) where live and ahead is not null;

-- waiting: rows that asked to be run when somebody looked, counted up to 10,001. done and failed: outcomes so far. rate: how many rows
-- ended in a second, in the window before rate_since; rate_ended of them since.
alter table bellhop.attachment
  add column waiting    integer,
  add column waiting_at timestamptz,
  add column done       bigint  not null default 0,
  add column failed     bigint  not null default 0,
  add column rate       real,
  add column rate_since timestamptz,
  add column rate_ended integer not null default 0;
update bellhop.attachment a
   set done = c.done, failed = c.failed
  from (select x.attachment, count(*) filter (where j.state = 'succeeded') as done, count(*) filter (where j.state <> 'succeeded') as failed
          from bellhop.attached x join bellhop.jobqueue j on j.id = x.job
         where not x.live group by x.attachment) c
 where c.attachment = a.id;

revoke all on sequence bellhop.row_order from public;
do $$
begin
  if exists (select from pg_roles where rolname = 'bellhop_reader') then
    grant select (ahead) on bellhop.attached to bellhop_reader;
    grant select (waiting, waiting_at, done, failed, rate, rate_since, rate_ended) on bellhop.attachment to bellhop_reader;
  end if;
end
$$;
