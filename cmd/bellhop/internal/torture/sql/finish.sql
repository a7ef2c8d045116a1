-- The work of a job that an app has taken, and its outcome, in one statement. $1 job, $2 fence, $3 token. Guard: bellhop.finish, which
-- raises BH004 when the job is no longer the caller's; then neither is kept.
with f as (select bellhop.finish($1::bigint, $2::bigint)) insert into public.torture_ledger (n) select $3::bigint from f
