-- Rules of who is told of runs can be switched off, and have a version, so that two who change one see each other.
-- Locks: ACCESS EXCLUSIVE on bellhop.notice_rule, for a moment.
alter table bellhop.notice_rule
  add column active  boolean not null default true,
  add column version integer not null default 1;
