-- What a filter's predicates say about a job, in SQL: at INSERT no instance is there to ask. NULL is no answer: the
-- expression compares with a missing field, or with a value of another type. scheduler/lock says the same, and a test
-- compares the two.

-- filter_field: what a job has under a name. NULL: there is no such field; JSON's null: the job has nothing there.
-- ':vars' holds the job's vars; without it vars.NAME and args.PATH are not fields.
-- Grant: scheduler
create or replace function bellhop.filter_field(field text, has jsonb) returns jsonb
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v    jsonb;
  step text;
begin
  if has ? field and field <> ':vars' then
    return has -> field;
  elsif not has ? ':vars' then
    return null;
  elsif starts_with(field, 'vars.') then
    return coalesce(has -> ':vars' -> substr(field, 6), 'null');
  elsif not starts_with(field, 'args.') then
    return null;
  end if;
  begin
    v := (has ->> 'args')::jsonb;
  exception when others then -- args are not JSON
    return 'null';
  end;
  foreach step in array coalesce(nullif(string_to_array(substr(field, 6), '.'), '{}'), '{""}') loop
    if jsonb_typeof(v) is distinct from 'object' then
      return 'null';
    end if;
    v := v -> step;
  end loop;
  return coalesce(v, 'null');
end
$$;

-- filter_compare: compares two values of one type; only numbers and texts have an order, others are equal or not.
-- Grant: scheduler
create or replace function bellhop.filter_compare(op text, got jsonb, want jsonb) returns boolean
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select case
    when jsonb_typeof(got) <> jsonb_typeof(want) then null
    when jsonb_typeof(got) = 'boolean' then case when op = '=' then got = want end
    when jsonb_typeof(got) not in ('string', 'number') then null
    else case op when '=' then c.c = 0 when '<' then c.c < 0 when '<=' then c.c <= 0 when '>' then c.c > 0 when '>=' then c.c >= 0 end
  end
  from (select case jsonb_typeof(got)
                 when 'string' then case when (got #>> '{}') collate "C" = (want #>> '{}') then 0 when (got #>> '{}') collate "C" < (want #>> '{}') then -1 else 1 end
                 when 'number' then case when jsonb_typeof(want) = 'number' then sign((got #>> '{}')::numeric - (want #>> '{}')::numeric) end
               end) c (c)
$$;

-- filter_answer: what an expression says about a thing with these fields. mark: the rule's watermark, for the text that
-- names it.
-- Grant: scheduler
create or replace function bellhop.filter_answer(expr jsonb, has jsonb, mark bigint default null) returns boolean
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  op   text := expr ->> 0;
  all_ boolean;
  got  jsonb;
  want jsonb := expr -> 2;
  kind text;
begin
  if jsonb_typeof(expr) = 'null' then -- an empty expression: holds for everything
    return true;
  elsif op in ('&', '|') then
    all_ := op = '&';
    for i in 1 .. jsonb_array_length(expr) - 1 loop
      if op = '&' then
        all_ := all_ and bellhop.filter_answer(expr -> i, has, mark);
      else
        all_ := all_ or bellhop.filter_answer(expr -> i, has, mark);
      end if;
      exit when all_ = (op = '|');
    end loop;
    return all_;
  elsif op = '!' then
    return not bellhop.filter_answer(expr -> 1, has, mark);
  end if;
  got := bellhop.filter_field(expr ->> 1, has);
  kind := jsonb_typeof(got);
  if got is null then
    return null;
  elsif op = '?' then
    return case kind when 'string' then got <> '""' when 'number' then (got #>> '{}')::numeric <> 0 when 'boolean' then got = 'true'
                     when 'array' then jsonb_array_length(got) > 0 else kind = 'object' end;
  elsif op = '=~' then
    return case when kind = 'string' then (got #>> '{}') collate "C" ~ (want #>> '{}') end;
  end if;
  if mark is not null and want = '"watermark"' then
    want := to_jsonb(mark);
  end if;
  if op = '=[]' then
    return case when kind = 'array' then exists (select from jsonb_array_elements(got) x (v) where bellhop.filter_compare('=', x.v, want)) end;
  end if;
  return bellhop.filter_compare(op, got, want);
end
$$;

-- filter_matches: whether all predicates of a rule hold for a job.
-- Grant: scheduler
create or replace function bellhop.filter_matches(f bellhop.filter, j bellhop.jobqueue) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  p     jsonb;
  has   jsonb;
  holds boolean;
begin
  for p in select e.p from jsonb_array_elements(f.predicates) e (p) loop
    holds := case p ->> 0
         when 'jobid' then bellhop.filter_answer(p -> 1, jsonb_build_object('id', j.id), f.watermark)
         when 'reason' then exists (select from unnest(j.reasons) r (reason)
                where bellhop.filter_answer(p -> 1, jsonb_build_object('reason', r.reason, 'source', coalesce(j.submitted_by, ''),
                                                                        'timestamp', extract(epoch from j.created_at))))
       end;
    if holds then
      continue;
    elsif p ->> 0 is distinct from 'opcode' then
      return false;
    end if;
    has := coalesce(has, jsonb_build_object('type', j.type, 'OP_ID', j.type, 'args', coalesce(j.args, ''), 'key', coalesce(j.key, ''),
      'run_on', coalesce(j.run_on, ''), 'submitted_by', coalesce(j.submitted_by, ''), 'priority', j.priority,
      'locks', to_jsonb(coalesce(j.locks, '{}')), 'reasons', to_jsonb(coalesce(j.reasons, '{}')), ':vars', coalesce(j.vars, '{}')));
    if bellhop.filter_answer(p -> 1, has) is not true then
      return false;
    end if;
  end loop;
  return true;
end
$$;

-- applying_filter: the rule that decides about a job; NULL: none. No rule applies to commands and dummies: they are not
-- work.
-- Grant: scheduler
create or replace function bellhop.applying_filter(j bellhop.jobqueue) returns bellhop.filter
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  f bellhop.filter;
begin
  if j.type in ('command', 'dummy') then
    return null;
  end if;
  for f in select r.* from bellhop.filter r where r.action <> 'CONTINUE' order by r.priority, r.watermark, r.id collate "C" loop
    if bellhop.filter_matches(f, j) then
      return f;
    end if;
  end loop;
  return null;
end
$$;

-- filter_nesting_flaw: groups and repeats of a regular expression that Go refuses, and PostgreSQL may not; NULL: none. bare
-- has neither escaped characters, nor brackets, nor options. As regexp/syntax of Go counts: repeats within each other are
-- multiplied, by their upper bound if they have one, and {0} hides what it repeats. 200 groups within each other stay
-- below Go's depth of 1000.
-- Grant: none
create or replace function bellhop.filter_nesting_flaw(bare text) returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  token text;
  n     bigint;
  last  bigint := 1;        -- how often the last atom, or a part of it, is repeated
  most  bigint[] := '{1}';  -- of the atoms before it, in each group that is open
  depth integer := 1;
begin
  for token in select m[1] from regexp_matches(bare, e'(\\(|\\)|\\{[0-9]+,?[0-9]*\\}|[^(){}]+|.)', 'g') m loop
    if token = ')' then
      last := greatest(last, most[depth]);
      depth := greatest(depth - 1, 1);
    elsif token ~ '[{][0-9]' then
      n := substring(token, '([0-9]+),?[}]$')::bigint;
      last := case when n = 0 and token !~ ',[}]$' then 1 else last * greatest(n, 1) end;
    else
      most[depth] := greatest(last, most[depth]);
      last := 1;
      if token = '(' then
        depth := depth + 1;
        most[depth] := 1;
      end if;
    end if;
    if last > 1000 then
      return 'in a regular expression of a filter, repeats within each other come to 1000 at most';
    elsif depth > 201 then
      return 'in a regular expression of a filter, groups are nested 200 deep at most';
    end if;
  end loop;
  return null;
end
$$;

-- filter_regex_flaw: the part of a regular expression that PostgreSQL can read and passes, which are written in Go,
-- cannot; NULL: none. Escaped characters and brackets are searched only for what counts there.
-- Grant: none
create or replace function bellhop.filter_regex_flaw(regex text) returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select case
    when e.bad is not null then format(e'%L: there is no \\%s in a regular expression of a filter', regex, e.bad)
    when starts_with(regex, '***') or strpos(regex, '[[:<:]]') > 0 or strpos(regex, '[[:>:]]') > 0 or e.bare ~ e'\\(\\?[^:]'
      then format('%L: a regular expression of a filter has no lookaround, and no options but (?i), (?m) and (?s) in front', regex)
    when e.plain ~ e'\\[\\^?\\]?(\\[:[a-z]+:\\]|[^]])*\\[[.=]'
      then format('%L: a regular expression of a filter has no [. .] and no [= =] in brackets', regex)
    else format('%L: ', regex) || bellhop.filter_nesting_flaw(e.bare)
  end
  from (select w.bad, w.plain, regexp_replace(regexp_replace(w.plain, e'\\[\\^?\\]?(\\[:[a-z]+:\\]|[^]])*\\]', 'x', 'g'), e'^\\(\\?[ims]+\\)', '')
          from (select (select m[1] from regexp_matches(regex, e'\\\\(.)', 'g') m where m[1] ~ '[A-Za-z0-9]' and m[1] !~ '[abfnrtvABdDsSwW0]' or ascii(m[1]) > 127 limit 1),
                       regexp_replace(regex, e'\\\\.', 'x', 'g')) w (bad, plain)) e (bad, plain, bare)
$$;

-- filter_flaw: what is wrong with an expression, or a part of it, as far as the database has to know; NULL: nothing.
-- `bellhop filter add` says more, and where.
-- Grant: none
create or replace function bellhop.filter_flaw(expr jsonb, depth integer default 1) returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  op    text := expr ->> 0;
  takes integer := case expr ->> 0 when '?' then 2 else 3 end;
  flaw  text;
begin
  if jsonb_typeof(expr) = 'null' then
    return null;
  elsif expr is null or jsonb_typeof(expr) <> 'array' or jsonb_typeof(expr -> 0) is distinct from 'string' then
    return format('%s is not a valid expression', coalesce(expr::text, 'nothing'));
  elsif depth > 64 then
    return 'it is nested more than 64 deep';
  elsif op in ('&', '|', '!') then
    if op = '!' and jsonb_array_length(expr) <> 2 then
      return format('%s: ! takes one expression', expr);
    end if;
    for i in 1 .. jsonb_array_length(expr) - 1 loop
      flaw := bellhop.filter_flaw(expr -> i, depth + 1);
      exit when flaw is not null;
    end loop;
    return flaw;
  elsif op not in ('?', '=', '<', '<=', '>', '>=', '=~', '=[]') then
    return format('%s: there is no operator %s', expr, op);
  elsif jsonb_typeof(expr -> 1) is distinct from 'string' or jsonb_array_length(expr) <> takes
     or jsonb_typeof(expr -> 2) in ('null', 'array', 'object') or op = '=~' and jsonb_typeof(expr -> 2) <> 'string' then
    return format('%s: %s takes a field%s', expr, op, case op when '?' then '' when '=~' then ' and a regular expression' else ' and a value' end);
  elsif op = '=~' then
    perform '' ~ (expr ->> 2); -- PostgreSQL says what is wrong with it
    return bellhop.filter_regex_flaw(expr ->> 2);
  elsif jsonb_typeof(expr -> 2) = 'number' and abs((expr ->> 2)::numeric) > 1.7e308 then
    return format('%s: there is no number that large', expr);
  end if;
  return null;
end
$$;
