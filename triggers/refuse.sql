-- Impossible values are refused, under the names of the CHECKs that once did it. There were sixteen: each statement
-- that writes the queue parsed each of them from its text, and tested it for every row, though a claim and an outcome
-- write none of the columns concerned: 40-50 us of a cold claim. As triggers they cost something only when those
-- columns are written. The one on the state is still a CHECK, since every claim and outcome writes it.
-- This comes first, since nothing may come in between: the whole file is one transaction. Locks: ACCESS EXCLUSIVE for a
-- moment; no row is read.
alter table bellhop.jobqueue
  drop constraint if exists jobqueue_type_named,
  drop constraint if exists jobqueue_args_or_msq,
  drop constraint if exists jobqueue_args_one_line,
  drop constraint if exists jobqueue_msq_not_empty,
  drop constraint if exists jobqueue_repeat_known,
  drop constraint if exists jobqueue_repeat_needs_msq,
  drop constraint if exists jobqueue_priority_range,
  drop constraint if exists jobqueue_priority_name,
  drop constraint if exists jobqueue_key_not_empty,
  drop constraint if exists jobqueue_run_on_not_empty,
  drop constraint if exists jobqueue_max_attempts,
  drop constraint if exists jobqueue_timeout_positive,
  drop constraint if exists jobqueue_on_failure_known,
  drop constraint if exists jobqueue_locks_well_formed,
  drop constraint if exists jobqueue_vars_are_strings;

-- Grant: none
create or replace function bellhop.refuse() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  rule text;
begin
  -- In the order in which PostgreSQL tested the CHECKs: that of their names. `make generate` writes the lines about one
  -- field, with their hints and conditions, from the bounds in scheduler/grammar; lines about several are by hand. An
  -- index holds a key, a type beside a lock's name, and a run_on beside the type: hence their bounds in bytes.
  rule := case
    when not (strpos(new.args, e'\n') = 0 and strpos(new.args, e'\r') = 0) then 'args_one_line'
    when not (new.args is null or new.msq is null) then 'args_or_msq'
    when not (new.key <> '' and length(new.key) <= 1000 and octet_length(new.key) <= 2600) then 'key_not_empty'
    when not (new.locks is null or bellhop.locks_ok(new.locks)) then 'locks_well_formed'
    when not (new.max_attempts >= 1) then 'max_attempts'
    when not (new.msq ~ e'\\S') then 'msq_not_empty'
    when not (new.on_failure in ('fail', 'block', 'run')) then 'on_failure_known'
    when not (new.priority_name ~ '^[A-Za-z0-9]+$') then 'priority_name'
    when not (new.priority between -20 and 19) then 'priority_range'
    when not case when array_ndims(new.reasons) > 1 then false else array_position(new.reasons, null) is null end then 'reasons_well_formed'
    when not (new.repeat in ('once', 'until_empty')) then 'repeat_known'
    when not (new.repeat is null or new.msq is not null) then 'repeat_needs_msq'
    when not (new.run_on <> '' and octet_length(new.run_on) <= 1000) then 'run_on_not_empty'
    when not (new.share <> '' and length(new.share) <= 200) then 'share'
    when not (new.timeout > interval '0' and new.timeout <= interval '100 years') then 'timeout_positive'
    when not (new.type <> '' and octet_length(new.type) <= 500) then 'type_named'
    when not (new.vars is null or (jsonb_typeof(new.vars) = 'object' and not jsonb_path_exists(new.vars, 'strict $.* ? (@.type() != "string")'))) then 'vars_are_strings'
  end;
  if rule is null then
    return new;
  end if;
  raise check_violation using
    message = format('new row for relation "jobqueue" violates check constraint "jobqueue_%s"', rule),
    constraint = 'jobqueue_' || rule, table = 'jobqueue', schema = 'bellhop',
    hint = case rule
      when 'args_one_line' then e'An agent reads one line: write the break as JSON does (\\n), or what is long into a table that args name.'
      when 'args_or_msq' then 'Give args, or msq: the rows of a query are what its agent is given.'
      when 'key_not_empty' then 'Write 1 to 1000 characters, at most 2600 bytes; NULL is none.'
      when 'locks_well_formed' then 'A lock is level:name=exclusive, level:name=shared, or big; the name is * for all, ? for one that is not known yet.'
      when 'max_attempts' then 'Write 1 or more.'
      when 'msq_not_empty' then 'Write a query, or NULL.'
      when 'on_failure_known' then 'Write fail, block or run.'
      when 'priority_name' then 'Letters and digits; its number goes into priority.'
      when 'priority_range' then 'Write a number from -20 (first) to 19 (last).'
      when 'reasons_well_formed' then 'Write a list of texts, without NULL: ''{import:2026-11,rate-limit:2:mail}''.'
      when 'repeat_known' then 'Write once or until_empty.'
      when 'repeat_needs_msq' then 'It is for jobs with a query (msq).'
      when 'run_on_not_empty' then 'Write 1 to 1000 bytes; NULL is any host.'
      when 'share' then 'Write 1 to 200 characters; NULL is none.'
      when 'timeout_positive' then 'Write an interval such as ''90 s'', at most 100 years; NULL is none.'
      when 'type_named' then 'Write 1 to 500 bytes.'
      when 'vars_are_strings' then 'Write an object of texts: {"NAME": "value"}.'
    end;
end
$$;

-- Before the row is written, as the CHECKs were: a row with several faults is refused for the same reason as ever. Rare
-- columns are only looked for here; the function tests them.
create or replace trigger _000_refuse_insert before insert on bellhop.jobqueue
  for each row when (
    new.type = '' or octet_length(new.type) > 500
    or new.run_on = '' or octet_length(new.run_on) > 1000
    or new.key = '' or length(new.key) > 1000 or octet_length(new.key) > 2600
    or new.share = '' or length(new.share) > 200
    or new.priority not between -20 and 19
    or new.max_attempts < 1
    or new.timeout <= interval '0' or new.timeout > interval '100 years'
    or new.on_failure not in ('fail', 'block', 'run')
    -- by hand
    or strpos(new.args, e'\n') > 0 or strpos(new.args, e'\r') > 0
    or new.msq is not null or new.repeat is not null or new.priority_name is not null or new.locks is not null or new.vars is not null
    or new.reasons is not null)
  execute function bellhop.refuse();

-- After it: a row trigger before every UPDATE would lock each row once more, whatever the UPDATE writes.
create or replace trigger _000_refuse_update
  after update of type, args, msq, repeat, priority, priority_name, key, run_on, max_attempts, timeout, on_failure, locks, reasons, vars, share on bellhop.jobqueue
  for each row execute function bellhop.refuse();

-- As a CHECK would: where replication or a restore keeps the other triggers from firing, too.
alter table bellhop.jobqueue enable always trigger _000_refuse_insert, enable always trigger _000_refuse_update;
