-- Commands ride the queue, and only operators may give them. Neither they nor
-- dummies are claimed: the round that looks for what is due deals with both.
-- The WHEN keeps the function away from ordinary rows.
create or replace function bellhop.command() returns trigger
language plpgsql
set search_path = pg_catalog, bellhop
as $$
declare
  -- Who asks. Not current_user: bellhop.submit runs as the schema's owner.
  who name := case when current_setting('role') = 'none' then session_user::text else current_setting('role') end;
begin
  if new.type = 'dummy' then -- it needs no agent: bellhop.pass_dummies
    perform pg_notify('bellhop_due', '');
    return null;
  end if;
  if not pg_has_role(who, (select relowner from pg_class where oid = tg_relid), 'member')
     and not coalesce((select pg_has_role(who, r.oid, 'member') from pg_roles r where r.rolname = 'bellhop_operator'), false) then
    raise insufficient_privilege using
      message = format('permission denied: %s may not give commands to the scheduler', who),
      hint = format('Jobs of type command are for operators: grant bellhop_operator to %I.', who);
  end if;
  if new.msq is not null or new.run_on is not null then
    raise check_violation using message = 'a command has args, and neither msq nor run_on',
      hint = 'Write the command into args, such as ''pause license'' or ''shutdown big1''.';
  end if;
  perform pg_notify('bellhop_due', '');
  return null;
end
$$;

create or replace trigger _050_command
  after insert on bellhop.jobqueue
  for each row when (new.type in ('command', 'dummy'))
  execute function bellhop.command();

revoke all on function bellhop.command from public;
