-- How often each job that an app has taken is in the ledger, which it writes in the transaction that finishes the job. Guard: none; it reads.
select n, count(*) from public.torture_ledger group by n
