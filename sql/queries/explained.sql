-- Whether some of these jobs do not say yet why they wait: the first $4 jobs of a type ($1), of a name in run_on ($2,
-- NULL: jobs without one), and of a priority and its name ($5, NULL: any; $6), and why ($3). Indexes: jobqueue_ready;
-- jobqueue_pinned, jobqueue_shared.
select exists (
  select 1
    from (select waiting_for from bellhop.jobqueue
           where type = $1 and state = 'ready' and not held and run_on is null and locks is null and share is null and $2::text is null
             and priority between coalesce($5::smallint, -20) and coalesce($5::smallint, 19)
             and ($5::smallint is null or priority_name is not distinct from $6::text)
           order by priority, id limit $4) d
   where d.waiting_for is distinct from $3
  union all
  select 1
    from (select waiting_for from bellhop.jobqueue
           where type = $1 and state = 'ready' and not held and run_on = $2::text and locks is null and share is null
             and priority between coalesce($5::smallint, -20) and coalesce($5::smallint, 19)
             and ($5::smallint is null or priority_name is not distinct from $6::text)
           order by priority, id limit $4) d
   where d.waiting_for is distinct from $3
  union all
  select 1
    from (select waiting_for from bellhop.jobqueue
           where type = $1 and share is not null and state = 'ready' and not held and locks is null and coalesce(run_on, '') = coalesce($2::text, '')
             and priority between coalesce($5::smallint, -20) and coalesce($5::smallint, 19)
             and ($5::smallint is null or priority_name is not distinct from $6::text)
           order by priority, share, id limit $4) d
   where d.waiting_for is distinct from $3)
