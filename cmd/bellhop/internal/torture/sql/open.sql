-- How many jobs and runs have not ended, how many rows have not started a run yet, and how many attached rows have no outcome. Guard:
-- none; it reads.
select (select count(*) from bellhop.jobqueue where state not in ('succeeded', 'failed', 'cancelled', 'skipped', 'quarantined', 'expired'))
     + (select count(*) from bellhop.run where state in ('queued', 'running'))
     + (select count(*) from public.torture_event t where not exists (select from bellhop.run r where r.event = 'public.torture_event=' || t.id))
     + (select count(*) from public.torture_row where status is null)
