-- How an instance took its configuration when it was last told to: for `bellhop reload`, and for who looks at instances.
alter table bellhop.instance add column reloaded_at timestamptz; -- NULL: not since it began
alter table bellhop.instance add column reload_failed boolean not null default false;
alter table bellhop.instance add column reload_said text;
