-- Every row of the table that is attached: its number, and the outcome that was written back. Guard: none; it reads.
select r.n, coalesce(r.status, '') from public.torture_row r order by r.n
