-- Works from: 0051
-- Jobs of a type get their share from a template (../functions/share_templates.sql). An older instance has no templates,
-- and changes none.
create table bellhop.share_template (
  type     text   primary key,
  template text   not null, -- as the file has it
  parts    text[] not null  -- as lock.ShareTemplate gives it: =text, args, key or vars.NAME
);
comment on table bellhop.share_template is 'The templates (agents[].share) that give jobs without a share one, by type.';

-- Which types have a template: bit n stands for those whose hash is n. The trigger asks it of each job that comes with
-- vars: it costs no look into a table, and no snapshot. A bit stays when the template goes; the trigger then finds none.
create sequence bellhop.share_types;
comment on sequence bellhop.share_types is 'Which types have a template in share_template, as bits by hash.';

revoke all on bellhop.share_template from public;
-- Each session that inserts asks it. It tells nothing but that there are templates.
grant select on sequence bellhop.share_types to public;
do $$
begin
  if exists (select from pg_roles where rolname = 'bellhop_reader') then
    grant select on bellhop.share_template to bellhop_reader;
  end if;
  if exists (select from pg_roles where rolname = 'bellhop_operator') then
    grant select on bellhop.share_template to bellhop_operator;
  end if;
  if exists (select from pg_roles where rolname = 'bellhop_scheduler') then
    grant select, insert, update, delete on bellhop.share_template to bellhop_scheduler;
    grant select, update on sequence bellhop.share_types to bellhop_scheduler;
  end if;
end
$$;
