-- Items that failed for good. Arrays: $1 job, $2 fence, $3 item, $4 line, $5 tries, $6 exit code, $7 error.
insert into bellhop.item (job, fence, item, line, tries, exit_code, error)
select * from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::int[], $6::int[], $7::text[])
on conflict (job, fence, item) do update set tries = excluded.tries, exit_code = excluded.exit_code, error = excluded.error
