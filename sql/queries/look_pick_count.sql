-- How many jobs an order is for: look_pick.sql. $1 states, $2 types (NULL: all).
select count(*)
  from bellhop.job j
 where j.state = any ($1::text[]) and ($2::text[] is null or j.type = any ($2::text[])) and bellhop.may_change(j.submitted_by)
