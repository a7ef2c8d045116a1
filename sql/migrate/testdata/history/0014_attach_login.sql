-- A login for what touches users' tables, and what the turns at these have to know besides.

do $$
begin
  if (select rolsuper or rolcreaterole from pg_roles where rolname = current_user) then
    create role bellhop_attach login; -- without a password: it logs in where pg_hba.conf lets it, or is given one
  else
    raise notice 'bellhop: % may not create the role bellhop_attach; a superuser does: bellhop install roles', current_user;
  end if;
exception when duplicate_object or unique_violation then
  null;
end
$$;

alter table bellhop.attachment
  add column turn text,                -- the name of its function in schema bellhop_attached
  add column detached_at timestamptz;  -- it takes no rows any more, and stays until all that runs is over
update bellhop.attachment set turn = 'turn_' || id;
alter table bellhop.attachment alter turn set not null, alter turn set default 'turn_' || replace(gen_random_uuid()::text, '-', '');
-- A table that was detached may be attached anew while what runs of it goes on.
alter table bellhop.attachment drop constraint attachment_name_key, drop constraint attachment_rel_dispatch_column_key;
create unique index attachment_name on bellhop.attachment (name) where detached_at is null;
create unique index attachment_table on bellhop.attachment (rel, dispatch_column) where detached_at is null;

-- Rows that could not be marked as taken, or be told their outcome: their table's triggers would not have it.
create table bellhop.set_aside (
  attachment bigint      not null references bellhop.attachment on delete cascade,
  digest     bytea       not null, -- as in bellhop.attached
  key        text        not null,
  reason     text        not null,
  outcome    boolean     not null, -- it ran, and its outcome could not be written; else it could not be taken
  times      integer     not null default 1,
  since      timestamptz not null default clock_timestamp(),
  again_at   timestamptz not null, -- when that is tried again
  primary key (attachment, digest)
);
revoke all on bellhop.set_aside from public;

do $$
declare
  f regprocedure;
begin
  if exists (select from pg_roles where rolname = 'bellhop_operator') then
    grant select on bellhop.set_aside to bellhop_reader;
    grant select, delete on bellhop.set_aside to bellhop_operator;
    grant select, insert, update, delete on bellhop.set_aside to bellhop_scheduler;
    grant select (turn, detached_at) on bellhop.attachment to bellhop_reader;
  end if;
  if exists (select from pg_roles where rolname = 'bellhop_attach') then
    grant usage on schema bellhop, bellhop_attached to bellhop_attach;
    -- Functions of tables that are attached already belong to others: a superuser may, and their owners when they attach again.
    for f in select p.oid from pg_proc p where p.pronamespace = 'bellhop_attached'::regnamespace loop
      begin
        execute format('grant execute on function %s to bellhop_attach', f);
      exception when insufficient_privilege then
        raise notice 'bellhop: the owner of % is to attach its table again, or a superuser: bellhop install roles', f;
      end;
    end loop;
  end if;
end
$$;
