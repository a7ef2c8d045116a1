-- Works from: 0051
-- Locks: ACCESS EXCLUSIVE on bellhop.host and bellhop.agent, for a moment.
-- What the tree decides stands in its own words, and bellhop.hindrance reads it. An older binary tells neither column; it
-- still writes host.only_types, which is read no more.
-- Why hosts take no job of the type, by host: {"east": "takes only sh (only_types)"}.
alter table bellhop.agent add column refused jsonb not null default '{}';
-- What keeps jobs from starting on the host just now, by type, "" for each type that is not named: {"": "no_room: …", "sh": ""}.
-- Empty words: nothing. NULL: the host of an older binary, which does not tell.
alter table bellhop.host add column bounds jsonb;
alter table bellhop.host alter column bounds set default '{}';
