-- Children: jobs that a run makes, and whose ends its next run awaits. The job of the run needs them, as any job needs
-- others, so that no instance watches them, and the end of the last child makes it ready. ../../docs/steps.md

drop function if exists bellhop.child_keys();

-- children_fault: why these children cannot be made; NULL: they can, as far as this looks. Values are looked at by the
-- INSERT.
-- Grant: scheduler
create or replace function bellhop.children_fault(children jsonb) returns text
language plpgsql immutable
set search_path = pg_catalog, bellhop, pg_temp
as $$
declare
  c     jsonb;
  n     integer := 0;
  keys  constant text[] := array(select k.key from bellhop.definition_keys() k where k.part = 'child' order by k.n);
  wrong text;
begin
  if coalesce(jsonb_typeof(children) <> 'array' or jsonb_array_length(children) not between 1 and 1000, true) then
    return 'children are a list of 1 to 1000 jobs, such as [{"type":"resize","args":"1.jpg"}]';
  end if;
  for c in select jsonb_array_elements(children) loop
    n := n + 1;
    if jsonb_typeof(c) <> 'object' or jsonb_typeof(c -> 'type') is distinct from 'string' then
      return format('child %s has no type: write {"type":"resize","args":"1.jpg"}', n);
    elsif c ->> 'type' in ('command', 'dummy') then
      return format('child %s is of type %s, which a run cannot make', n, c ->> 'type');
    end if;
    wrong := (select min(k) from jsonb_object_keys(c) k where k <> all (keys));
    if wrong is not null then
      return format('child %s has the unknown key %s; known are %s', n, wrong, array_to_string(keys, ', '));
    end if;
  end loop;
  return (select format('%s of child %s is not %s', k.key, x.n, case k.wants when 'words' then 'a list of texts, such as ["' || k.like || '"]'
                                                                      when 'pairs' then 'an object of names and texts' when 'flag' then 'true or false' else 'a text or a number' end)
            from (select d.n, d.key, d.wants, substr(d.example, length('write it like ') + 1) as like
                    from bellhop.definition_keys() d where d.part = 'child' and d.key <> 'args') k
           cross join jsonb_array_elements(children) with ordinality as x (c, n)
           cross join lateral (select x.c -> k.key as v, jsonb_typeof(x.c -> k.key) as kind) v
           where v.kind <> 'null'
             and not case k.wants when 'words' then case when v.kind = 'array' then not exists (select from jsonb_array_elements(v.v) e where jsonb_typeof(e) <> 'string') else false end
                                  when 'pairs' then v.kind = 'object' when 'flag' then v.kind = 'boolean' else v.kind in ('string', 'number') end
           order by x.n, k.n limit 1);
end
$$;

-- make_children: the children of a run that rests until they have ended: rest has made its row blocked, with nothing
-- unmet. They come under the priority of their parent, unless they name one, and in its trace. Index: saved_step's
-- primary key.
-- Grant: none
create or replace function bellhop.make_children(j bellhop.jobqueue, children jsonb, submitted_by text) returns void
language plpgsql volatile
set search_path = pg_catalog, bellhop, pg_temp
as $$
declare
  ids  bigint[];
  kept jsonb;
begin
  with made as (
    insert into bellhop.jobqueue as q (type, args, msq, repeat, vars, priority, run_at, not_after, held, locks, reasons, share, run_on, max_attempts,
                                       own_attempts, timeout, traceparent, submitted_by)
    select c ->> 'type', case jsonb_typeof(c -> 'args') when 'string' then c ->> 'args' when 'null' then null else (c -> 'args')::text end,
           c ->> 'msq', c ->> 'repeat', nullif(c -> 'vars', 'null'), coalesce((c ->> 'priority')::smallint, j.priority),
           (c ->> 'run_at')::timestamptz, (c ->> 'not_after')::timestamptz, coalesce((c ->> 'held')::boolean, false),
           case when jsonb_typeof(c -> 'locks') = 'array' then array(select jsonb_array_elements_text(c -> 'locks')) end,
           case when jsonb_typeof(c -> 'reasons') = 'array' then array(select jsonb_array_elements_text(c -> 'reasons')) end, c ->> 'share', c ->> 'run_on',
           coalesce((c ->> 'max_attempts')::integer, 1), case when c ->> 'max_attempts' is not null then true end, (c ->> 'timeout')::interval,
           j.traceparent, make_children.submitted_by
      from jsonb_array_elements(make_children.children) with ordinality as x (c, n)
     order by n
    returning q.id
  )
  select array_agg(m.id order by m.id), jsonb_agg(jsonb_build_object('job', m.id) order by m.id) into ids, kept from made m;
  insert into bellhop.saved_step (job, name, output, bytes)
  select j.id, 'children.' || count(*) + 1, kept, octet_length(kept::text) from bellhop.saved_step s where s.job = j.id and s.name ~ '^children[.][0-9]+$';
  insert into bellhop.dependency (job, needs, wanted) select j.id, c, '{succeeded,failed,cancelled,quarantined}' from unnest(ids) c;
  update bellhop.dependency d set counted = true where d.job = j.id and d.needs = any (ids); -- no other transaction can see them
end
$$;

-- children_ends: how children have ended, for the line of their parent. More than 1 MiB of results stay in their rows.
-- Index: jobqueue's primary key.
-- Grant: none
create or replace function bellhop.children_ends(children jsonb) returns jsonb
language sql stable
set search_path = pg_catalog, bellhop, pg_temp
as $$
  select case when octet_length(e.whole::text) <= 1048576 then e.whole else e.short end
    from (
      select jsonb_agg(x.ends || jsonb_strip_nulls(jsonb_build_object('result', x.result, 'error', x.error)) order by x.n) as whole, jsonb_agg(x.ends order by x.n) as short
        from (
          select c.n, jsonb_build_object('job', c.child -> 'job', 'state', coalesce(q.state, 'deleted')) as ends, q.result,
                 case when q.state <> 'succeeded' then left(q.error, 1000) end as error
            from jsonb_array_elements(children) with ordinality as c (child, n)
            left join bellhop.jobqueue q on q.id = (c.child ->> 'job')::bigint
        ) x
    ) e
$$;

-- children: this run of a taken job makes jobs and ends; its next run begins when they have all ended, however that was,
-- and finds their ends as the step children.N. No attempt is counted. The caller submits them, so it has to be allowed
-- to. Returns their ids; NULL: the job is asked to stop, and is over.
-- Grant: worker scheduler
create or replace function bellhop.children(job bigint, fence bigint, children jsonb) returns bigint[]
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
declare
  j     bellhop.jobqueue := bellhop.own_run(children.job, children.fence);
  fault text := bellhop.children_fault(children.children);
begin
  if fault is not null then
    raise invalid_parameter_value using message = fault;
  elsif not pg_has_role(bellhop.caller(), 'bellhop_submitter', 'member') and not bellhop.is_operator() then
    raise insufficient_privilege using message = format('permission denied: %s may not submit jobs', bellhop.caller()),
      hint = format('Children are submitted by the login of the worker: grant bellhop_submitter to %I.', bellhop.caller());
  end if;
  perform bellhop.refuse_rest(j, null, null);
  if bellhop.rest(j, 'infinity', null, false, children.children, bellhop.caller()) <> 'blocked' then
    return null;
  end if;
  return array(select d.needs from bellhop.dependency d where d.job = j.id and not d.met order by d.needs);
end
$$;
