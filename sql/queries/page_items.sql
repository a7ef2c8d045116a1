-- A page of the failed items of a job, those of the last claim first: of the 5,000 behind item $3 of claim $2 (NULL: from the
-- first on) those with an error, $4 (masked; NULL: all), $5 of them. Guard: none, it only reads. Index: item's primary key.
select x.fence, x.item, x.line, x.tries, x.exit_code, x.error, x.at
  from (select i.fence, i.item, left(i.line, 400) as line, i.tries, i.exit_code, left(i.error, 400) as error, i.at
          from bellhop.failed_item i
         where i.job = $1::bigint and ($2::bigint is null or i.fence < $2::bigint or i.fence = $2::bigint and i.item > $3::bigint)
         order by i.fence desc, i.item limit 5000) x
 where $4::text is null or bellhop.masked(coalesce(x.error, '')) = $4::text
 order by x.fence desc, x.item limit $5::bigint
