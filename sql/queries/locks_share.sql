-- Locks that jobs share now ($1 levels, $2 names): the next pass looks whether the jobs behind them would share them
-- too. Guard: the advisory lock of passes; a row without a job holds nothing. Index: lock_grant's primary key.
insert into bellhop.lock_grant (level, name, job, fence, mode)
select distinct s.level, s.name, 0, 0, 'turn' from unnest($1::text[], $2::text[]) as s (level, name)
on conflict do nothing
