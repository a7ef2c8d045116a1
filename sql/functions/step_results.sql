-- Results of steps in later steps of a run: ${steps.NAME.result} and ${steps.NAME.result.FIELD} in args and vars. A job
-- that takes some keeps its template and the run's parameters in jobqueue.template. The trigger _020_results fills it in
-- when the job becomes ready.

-- results_named: which results a text takes: all of what stands between ${ and }, the step, and the way to the field. The
-- same rule as scheduler/workflow's Parts.
-- Grant: none
create or replace function bellhop.results_named(template text) returns table (key text, step text, path text[])
language sql immutable
set search_path = pg_catalog, pg_temp
as $f$
  select distinct m.part[2], n.step, coalesce(string_to_array(nullif(substr(m.part[2], length('steps.' || n.step || '.result') + 2), ''), '.'), '{}')
    from regexp_matches(case when strpos(template, '${steps.') > 0 then template end,
                        e'(\\$\\$\\{|\\$\\{(steps\\.[A-Za-z0-9_.-]+\\.result(?:\\.[^{}.]+)*)\\}|\\$|[^$]+)', 'g') m (part)
   cross join lateral (select substring(m.part[2] from '^steps[.](.+?)[.]result(?:[.]|$)') as step) n
   where m.part[2] is not null
$f$;

-- results_of_step: which results a step of a definition takes.
-- Grant: none
create or replace function bellhop.results_of_step(s jsonb) returns table (key text, step text, path text[])
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select r.* from bellhop.results_named(s ->> 'args') r
  union
  select r.* from jsonb_each_text(case when jsonb_typeof(s -> 'vars') = 'object' then s -> 'vars' else '{}' end) v cross join lateral bellhop.results_named(v.value) r
$$;

-- fill_results: the args and vars of a step that is ready now, with the results of the steps that it needs. fault: why
-- they cannot be filled; NULL: they are. Indexes: run's and dependency's primary keys, jobqueue's.
-- Grant: none
create or replace function bellhop.fill_results(j bellhop.jobqueue, out args text, out vars jsonb, out fault text)
language plpgsql stable
set search_path = pg_catalog, bellhop, pg_temp
as $$
declare
  most constant integer := 1048576;
  vals jsonb := j.template -> 'given';
  got  jsonb := '{}';
  line jsonb;
  k    record;
  from_ record;
  v    jsonb;
  size bigint := 0;
begin
  for k in select * from bellhop.results_of_step(j.template) order by 1 loop
    select o.id, o.result into from_
      from bellhop.run r join bellhop.dependency d on d.job = r.last join bellhop.jobqueue o on o.id = d.needs
     where r.id = j.run and o.step = k.step;
    v := from_.result #> k.path;
    if from_.id is null then
      fault := format('the job of step %s, whose result this step takes, is gone', k.step);
    elsif coalesce(from_.result, 'null') = 'null' then
      fault := format('step %s (job %s), whose result this step takes, gave none', k.step, from_.id);
    elsif coalesce(v, 'null') = 'null' then
      fault := format('the result of step %s (job %s) has nothing under %s', k.step, from_.id, array_to_string(k.path, '.'));
    end if;
    size := size + coalesce(octet_length(v #>> '{}'), 0);
    if size > most then
      fault := format('the results that this step takes have more than %s bytes; have a step give the name of a file or of a row instead', most);
    end if;
    if fault is not null then
      return;
    end if;
    got := got || jsonb_build_object(k.key, v #>> '{}');
  end loop;
  vals := vals || got;
  select jsonb_object_agg(x.key, bellhop.one_line(x.value)) into line from jsonb_each_text(vals) x;
  args := bellhop.filled(j.template ->> 'args', line);
  select jsonb_object_agg(x.key, bellhop.filled(x.value, vals)) into vars from jsonb_each_text(nullif(j.template -> 'vars', 'null')) x;
  if greatest(octet_length(args), octet_length(vars::text)) > most then
    fault := format('with the results that this step takes, its args or vars have more than %s bytes; have a step give the name of a file or of a row instead', most);
  end if;
end
$$;

-- edited_template: the template of a job whose args or vars were edited, so that what is filled in later does not undo the
-- edit. While the job is blocked, an edited text may take results of steps that the job needs, as its definition may.
-- After that it is taken as it is. NULL: the job takes no results. Index: dependency's primary key.
-- Grant: scheduler
create or replace function bellhop.edited_template(j bellhop.jobqueue, args text, vars jsonb) returns jsonb
language plpgsql stable
set search_path = pg_catalog, bellhop, pg_temp
as $f$
declare
  edited jsonb := jsonb_strip_nulls(jsonb_build_object('args', edited_template.args, 'vars', edited_template.vars));
  other  text;
begin
  if j.template is null or edited = '{}' then
    return j.template;
  elsif j.state <> 'blocked' then
    edited := jsonb_strip_nulls(jsonb_build_object('args', replace(edited_template.args, '${', '$${'),
      'vars', (select jsonb_object_agg(v.key, replace(v.value, '${', '$${')) from jsonb_each_text(edited_template.vars) v)));
  else
    with recursive need (job) as (
      select d.needs from bellhop.dependency d where d.job = j.id
      union
      select d.needs from need n join bellhop.dependency d on d.job = n.job
    )
    select r.step into other from bellhop.results_of_step(edited) r
     where not exists (select from need n join bellhop.jobqueue o on o.id = n.job where o.run = j.run and o.step = r.step)
     order by 1 limit 1;
    if other is not null then
      raise invalid_parameter_value using message = format('job %s does not need step %s, and so cannot take its result', j.id, other),
        hint = 'It takes results of steps that it needs. A text that is to have ${ in it has $${ there.';
    end if;
  end if;
  return j.template || edited;
end
$f$;
