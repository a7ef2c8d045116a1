-- Items, and one job over them; rows after the first thousand come slowly. $1 batch, $2 the first item's number, $3 how many, $4 attempts. Guard: the primary key of the items.
with items as (
  insert into public.torture_item select $1::bigint, $2::bigint + i from generate_series(0, $3::bigint - 1) i
)
insert into bellhop.jobqueue (type, msq, max_attempts)
values ('item', format('select n, greatest(0, least(5, %s - n)) as ms, case when n >= %s then pg_sleep(0.03)::text end as slow
                          from public.torture_item where batch = %s order by n', $2::bigint + 20, $2::bigint + 1000, $1::bigint), $4)
