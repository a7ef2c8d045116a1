-- Locks that are kept free for a job that is reserved for have rows of their own, which are alive for as long as that is so.
-- Locks here: ACCESS EXCLUSIVE on lock_grant, a small table, for a moment.
alter table bellhop.lock_grant drop constraint lock_grant_mode_check;
alter table bellhop.lock_grant add constraint lock_grant_mode_check check (mode in ('exclusive', 'shared', 'slot', 'turn', 'kept'));
