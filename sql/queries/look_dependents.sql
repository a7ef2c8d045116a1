-- How many jobs need those that an order is for (look_pick.sql), by what becomes of them. $1 states, $2 types (NULL:
-- all), $3 whether the order cancels them. Guard: bellhop.job, and may_change. Indexes: the primary key;
-- dependency_open.
select bellhop.dependents(array(
    select j.id from bellhop.job j
     where j.state = any ($1::text[]) and ($2::text[] is null or j.type = any ($2::text[])) and bellhop.may_change(j.submitted_by)), $3::boolean)
