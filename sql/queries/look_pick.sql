-- Jobs that an order is for, in the order of their ids, from behind one on: those in some states that the caller may change
-- and that were there when the first of them were asked for. $1 states, $2 types (NULL: all), $3 behind which id, $4 how many
-- at the most, $5 when that was (NULL: now). Index: the primary key, walked once in all.
select j.id, j.key, j.type, j.state, j.error, coalesce($5::timestamptz, clock_timestamp()) as asked
  from bellhop.job j
 where j.id > $3 and j.state = any ($1::text[]) and ($2::text[] is null or j.type = any ($2::text[]))
   and j.created_at <= coalesce($5::timestamptz, clock_timestamp()) and bellhop.may_change(j.submitted_by)
 order by j.id
 limit $4
