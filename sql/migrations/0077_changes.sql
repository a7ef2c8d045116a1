-- Works from: 0051
-- What people, tokens and logins have changed (../functions/changes.sql). Submissions, claims and outcomes are not here.
create table bellhop.change (
  id     bigint      generated always as identity primary key,
  at     timestamptz not null default clock_timestamp(),
  by     text        not null, -- a database login, or the caller that the pages or the API have identified
  via    text        not null, -- login: by SQL or a command; session: a login on the pages; token; oidc: a person
  role   text        not null, -- under which the caller was allowed to
  verb   text        not null,
  thing  text        not null, -- job, type, instance, operation, workflow, run, rule, filter, attachment, login
  name   text,                 -- of the thing, or its id; NULL: all, or several
  result text                  -- in a few words, without what only operators may see
);
comment on table bellhop.change is 'Changes by people, tokens and database logins, for 90 days.';
create index change_by on bellhop.change (by, id);
create index change_of on bellhop.change (thing, name, id);
revoke all on bellhop.change from public;
do $$
begin
  if exists (select from pg_roles where rolname = 'bellhop_reader') then
    grant select on bellhop.change to bellhop_reader;
  end if;
  if exists (select from pg_roles where rolname = 'bellhop_operator') then
    grant select on bellhop.change to bellhop_operator;
  end if;
  if exists (select from pg_roles where rolname = 'bellhop_scheduler') then
    grant select, insert, delete on bellhop.change to bellhop_scheduler;
  end if;
end
$$;
