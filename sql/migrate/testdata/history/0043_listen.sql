-- Where an instance answers, so that `bellhop ui` and `bellhop ready` on its machine find it.
-- Locks: ACCESS EXCLUSIVE on bellhop.instance, for a moment.
alter table bellhop.instance add column listen text; -- NULL: nowhere
