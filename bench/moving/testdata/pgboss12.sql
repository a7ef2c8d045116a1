-- What docs/moving/pgboss.sql reads of pg-boss 12, beside what pgboss10.sql has.
alter table pgboss.job
  drop column expire_in,
  add column expire_seconds integer not null default 900,
  add column heartbeat_seconds integer,
  add column group_id text,
  add column group_tier text,
  add column blocked boolean not null default false,
  add column blocking boolean not null default false;
