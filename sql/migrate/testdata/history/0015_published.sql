-- What else instances tell of themselves, so that a job can be told why it waits. An instance of the version before tells
-- none of it: the defaults say that it takes everything.
alter table bellhop.host
  add column far boolean not null default false, -- not its instance's own machine
  -- NULL: every one. only_names is a regular expression that priority_name must match, or else the priority is one of only_priorities.
  add column only_types text[],
  add column only_priorities integer[],
  add column only_names text,
  add column only_rjm text; -- a regular expression that the types of RJM's jobs must match
alter table bellhop.agent
  add column local boolean not null default false,     -- on hosts that are not far
  add column exclusive boolean not null default false, -- nothing else runs on the instance beside it
  -- By host, why the last child died, and since when none has proved itself: {"local": {"at": …, "deaths": 2, "why": …}}.
  add column deaths jsonb not null default '{}';
alter table bellhop.instance
  add column queries integer, -- how many MSQ jobs it reads at once; NULL: not told
  -- The last look at the queue: transactions below this were over when it began. And when that was.
  add column looked xid8,
  add column looked_at timestamptz,
  -- Since when it starts nothing but a job of an exclusive type that waits.
  add column draining_since timestamptz;
