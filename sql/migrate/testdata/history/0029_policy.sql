-- What instances tell of locks, so that the start of a job can be foretold by the policy that is obeyed, and its locks be known
-- where all jobs of a type need them. An instance of the version before tells none of it.
alter table bellhop.instance add column policy jsonb; -- under the names of the configuration; NULL: not told
alter table bellhop.agent add column locks text[] not null default '{}'; -- templates
