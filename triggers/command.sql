-- Commands ride the queue, and only operators may give them. Neither they nor dummies are claimed: the round that looks
-- for due rows handles both. The WHEN keeps the function away from ordinary rows.
-- Grant: none
create or replace function bellhop.command() returns trigger
language plpgsql security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
begin
  if new.type = 'dummy' then -- it needs no agent: bellhop.pass_dummies
    perform pg_notify('bellhop_due', '');
    return null;
  end if;
  if not bellhop.is_operator() then
    raise insufficient_privilege using
      message = format('permission denied: %s may not give commands to the scheduler', bellhop.caller()),
      hint = format('Jobs of type command are for operators: grant bellhop_operator to %I.', bellhop.caller());
  end if;
  if new.msq is not null or new.run_on is not null then
    raise check_violation using message = 'a command has args, and neither msq nor run_on',
      hint = 'Write the command into args, such as ''pause license'' or ''shutdown big1''.';
  end if;
  perform bellhop.changed('command', 'job', new.id::text, left(new.args, 200));
  perform pg_notify('bellhop_due', '');
  return null;
end
$$;

create or replace trigger _050_command
  after insert on bellhop.jobqueue
  for each row when (new.type in ('command', 'dummy'))
  execute function bellhop.command();
