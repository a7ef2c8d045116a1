-- Whether a host can be reached, as its instance last told. This machine always can.
alter table bellhop.host
  add column state text not null default 'up' check (state in ('up', 'connecting', 'down')),
  -- Why it is down: a code, a colon, words.
  add column trouble text,
  add column state_since timestamptz not null default clock_timestamp();
