-- The failed items of a job, grouped by error: of the first 5,000 of its last claims, how many failed with each error, and
-- five of them. $1 job. Lines only if the caller may see them. Guard: none, it only reads. Index: item's primary key.
select g.masked, g.n, g.item, g.line, g.tries, g.exit_code, g.error
  from (select x.*, count(*) over (partition by x.masked) as n, row_number() over (partition by x.masked order by x.fence desc, x.item) as place
          from (select i.fence, i.item, left(i.line, 400) as line, i.tries, i.exit_code, left(i.error, 400) as error,
                       bellhop.masked(left(coalesce(i.error, ''), 400)) as masked
                  from bellhop.failed_item i where i.job = $1::bigint order by i.fence desc, i.item limit 5000) x) g
 where g.place <= 5
 order by g.n desc, g.masked, g.place
