-- How many jobs and runs have not ended. Guard: none; it reads.
select (select count(*) from bellhop.jobqueue where state not in ('succeeded', 'failed', 'cancelled', 'skipped', 'quarantined', 'expired'))
     + (select count(*) from bellhop.run where state in ('queued', 'running'))
