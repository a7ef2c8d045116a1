-- A child with nothing to do says until when it keeps its slot from another type (explain tells it).
-- Locks: ACCESS EXCLUSIVE on bellhop.child, for a moment.
alter table bellhop.child
  add column kept_until timestamptz,
  add column kept_from  text,
  add column kept_by    text;
