-- Works from: 0051
-- Locks: ACCESS EXCLUSIVE on bellhop.host and bellhop.agent, for a moment.
-- What a host has besides slots, and what a child of a type takes of it: {"gpu": 2}. The tree counts them, and tells in
-- host.bounds and agent.refused what follows. These columns are for readers.
alter table bellhop.host add column resources jsonb not null default '{}';
alter table bellhop.agent add column resources jsonb not null default '{}';
-- How many slots of its host a child takes.
alter table bellhop.agent add column slots integer not null default 1;
