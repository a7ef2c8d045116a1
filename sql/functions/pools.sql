-- Rows of attached tables that were taken ahead (attached.ahead), and wait as blocked jobs for a place in their pool.

-- start_ahead: lets this many of them start, in their order. A job that another transaction has locked is passed over.
-- Returns how many there were. Index: attached_ahead; the queue's primary key.
-- Grant: scheduler
create or replace function bellhop.start_ahead(attachment bigint, most integer) returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  n    integer := 0;
  jobs bigint[];
  started integer;
begin
  while n < most loop
    jobs := array(select j.id
                    from bellhop.attached x join bellhop.jobqueue j on j.id = x.job
                   where x.attachment = start_ahead.attachment and x.live and x.ahead is not null
                   order by x.ahead limit most - n for no key update skip locked);
    exit when jobs = '{}';
    update bellhop.attached x set ahead = null where x.job = any (jobs);
    update bellhop.jobqueue j -- a cancelled one takes no place
       set unmet = null, waiting_for = null,
           state = case when j.held then 'held' when j.run_at > clock_timestamp() then 'scheduled' else 'ready' end
     where j.id = any (jobs) and j.unmet is not null and j.state in ('held', 'blocked', 'scheduled', 'ready');
    get diagnostics started = row_count;
    n := n + started;
  end loop;
  return n;
end
$$;

-- refill_pools: these jobs have ended in this transaction. The places that they had go to rows that were taken ahead,
-- no more than the pool has. Places that it misses are filled in the next turn. Returns how many may start. Index:
-- attached_job; attached_live.
-- Grant: scheduler
create or replace function bellhop.refill_pools(ids bigint[]) returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  p    record;
  room integer;
  n    integer := 0;
begin
  for p in
    select x.attachment, count(*)::integer as ended
      from bellhop.attached x join bellhop.jobqueue j on j.id = x.job
     where x.job = any (ids) and x.live and x.ahead is null
       and j.state in ('succeeded', 'failed', 'cancelled', 'quarantined') and j.xmin = pg_current_xact_id()::xid
     group by x.attachment order by x.attachment
  loop
    -- The pool may have been made smaller since.
    select a.pool - (select count(*) from bellhop.attached x join bellhop.jobqueue j on j.id = x.job
                      where x.attachment = a.id and x.live and x.ahead is null and j.state not in ('succeeded', 'failed', 'cancelled', 'quarantined'))
      into room from bellhop.attachment a where a.id = p.attachment and a.detached_at is null;
    n := n + bellhop.start_ahead(p.attachment, least(p.ended, room));
  end loop;
  return n;
end
$$;

-- taken_ahead: how many rows are taken beyond the pool, at most.
-- Grant: scheduler
create or replace function bellhop.taken_ahead() returns integer
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$ select 256 $$;

-- rows_rate: how many rows of an attachment end in a second; NULL: none has ended in the last minute, or too few.
-- Grant: reader scheduler
create or replace function bellhop.rows_rate(rate real, since timestamptz, ended integer) returns real
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select case when rows_rate.since < clock_timestamp() - interval '1 min' then null
              when rows_rate.rate is not null then rows_rate.rate
              when rows_rate.ended > 0 and s.seconds >= 1 then (rows_rate.ended / s.seconds)::real end
    from (select extract(epoch from clock_timestamp() - rows_rate.since) as seconds) s
$$;
