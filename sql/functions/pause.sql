-- pause: no job of a type starts any more (NULL: no job at all). Running jobs go on.
-- Grant: operator scheduler
create or replace function bellhop.pause(type text default null) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
begin
  perform bellhop.pause_type(pause.type);
  perform bellhop.changed('pause', 'type', pause.type, 'paused');
end
$$;

-- pause_type: what pause does, for a command, whose submission is recorded.
-- Grant: scheduler
create or replace function bellhop.pause_type(type text) returns void
language plpgsql volatile
set search_path = pg_catalog, bellhop, pg_temp
as $$
begin
  if octet_length(pause_type.type) > 500 then
    raise check_violation using message = format('a type has 1 to 500 bytes, and this one %s', octet_length(pause_type.type)), hint = 'bellhop agents   shows the types there are.';
  end if;
  insert into bellhop.paused (type, paused_by) values (coalesce(pause_type.type, ''), bellhop.actor()) on conflict do nothing;
  update bellhop.instance i set paused = (select array_agg(p.type) from bellhop.paused p) where i.state = 'live';
  perform pg_notify('bellhop_due', '');
end
$$;

-- resume: jobs of a paused type may start (NULL: of every type). Returns whether it was paused.
-- Grant: operator scheduler
create or replace function bellhop.resume(type text default null) returns boolean
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
declare
  was boolean := bellhop.resume_type(resume.type);
begin
  if was then
    perform bellhop.changed('resume', 'type', resume.type, 'resumed');
  end if;
  return was;
end
$$;

-- resume_type: what resume does, for a command, whose submission is recorded.
-- Grant: scheduler
create or replace function bellhop.resume_type(type text) returns boolean
language plpgsql volatile
set search_path = pg_catalog, bellhop, pg_temp
as $$
#variable_conflict use_column
declare
  was boolean;
begin
  delete from bellhop.paused p where resume_type.type is null or p.type = resume_type.type;
  was := found;
  update bellhop.instance i set paused = (select coalesce(array_agg(p.type), '{}') from bellhop.paused p) where i.state = 'live';
  perform pg_notify('bellhop_due', '');
  perform bellhop.kick();
  return was;
end
$$;
