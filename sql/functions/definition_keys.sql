-- Made from scheduler/grammar by make generate.

-- definition_keys: the keys that each part of a definition, and a child job, may have, the kind of each value, and its
-- bounds. kinds are the kinds of sensors that may have the key. wrong is the sentence about a value, which stands for
-- %s, and hint says what to write instead.
-- Grant: scheduler
create or replace function bellhop.definition_keys() returns table (
  part text, n integer, key text, wants text, required boolean, example text, kinds text[], choices text[], pattern text, lowest integer, most integer,
  bytes integer, wrong text, hint text)
language plpgsql immutable parallel safe -- its plan is kept: SQL would make one for each query
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
  select k.part, row_number() over ()::integer, k.key, k.wants, k.required, k.example, k.kinds, k.choices, k.pattern, k.lowest, k.most, k.bytes, k.wrong, k.hint
    from (values
    ('', 'workflow', 'word', true, null, null::text[], null::text[], '^[A-Za-z0-9][A-Za-z0-9._-]*$', null, 100, null::integer, '%s cannot be a name', 'letters, digits, . _ and -, at most 100'),
    ('', 'project', 'word', false, null, null::text[], null::text[], null, null, null::integer, null::integer, null, null),
    ('', 'active', 'flag', false, null, null::text[], null::text[], null, null, null::integer, null::integer, null, null),
    ('', 'sensor', 'part', false, null, null::text[], null::text[], null, null, null::integer, null::integer, null, null),
    ('', 'parameters', 'pairs', false, 'write it like parameters: {DAY: today}', null::text[], null::text[], null, null, null::integer, null::integer, null, null),
    ('', 'steps', 'list', true, 'write it like - {name: fetch, type: sh, args: "…"}', null::text[], null::text[], null, null, null::integer, null::integer, null, null),
    ('', 'notify', 'list', false, 'write it like - {when: [failed], mail: [ops@example.org]}', null::text[], null::text[], null, null, null::integer, null::integer, null, null),
    ('step', 'name', 'word', true, null, null::text[], null::text[], '^[A-Za-z0-9][A-Za-z0-9._-]*$', null, 100, null::integer, '%s cannot be a name', 'letters, digits, . _ and -, at most 100'),
    ('step', 'type', 'word', true, null, null::text[], null::text[], null, null, null::integer, null::integer, null, null),
    ('step', 'args', 'text', false, null, null::text[], null::text[], null, null, null::integer, null::integer, null, null),
    ('step', 'msq', 'text', false, null, null::text[], null::text[], null, null, null::integer, null::integer, null, null),
    ('step', 'after', 'words', false, 'write it like [fetch]', null::text[], null::text[], null, null, null::integer, null::integer, null, null),
    ('step', 'run_on', 'word', false, null, null::text[], null::text[], null, null, null::integer, null::integer, null, null),
    ('step', 'share', 'word', false, null, null::text[], null::text[], null, null, null::integer, null::integer, null, null),
    ('step', 'priority', 'whole', false, null, null::text[], null::text[], null, -20, 19, null::integer, null, 'write -20 to 19'),
    ('step', 'vars', 'pairs', false, 'write it like vars: {USERID: 7}', null::text[], null::text[], null, null, null::integer, null::integer, null, null),
    ('step', 'locks', 'words', false, 'write it like ["customer:7=exclusive"]', null::text[], null::text[], null, null, null::integer, null::integer, null, null),
    ('step', 'max_attempts', 'count', false, null, null::text[], null::text[], null, null, null::integer, null::integer, null, null),
    ('step', 'timeout', 'long', false, null, null::text[], null::text[], null, null, null::integer, null::integer, null, null),
    ('step', 'on_failure', 'word', false, null, null::text[], '{fail,run}', null, null, null::integer, null::integer, 'on_failure cannot be %s', 'known are fail, run'),
    ('sensor', 'cron', 'word', false, null, '{cron}', null::text[], null, null, null::integer, null::integer, null, null),
    ('sensor', 'zone', 'word', false, null, '{cron}', null::text[], null, null, null::integer, null::integer, null, null),
    ('sensor', 'catch_up', 'word', false, null, '{cron,every,kafka}', '{one,all,none}', null, null, null::integer, null::integer, 'catch_up cannot be %s', 'known are one, all, none'),
    ('sensor', 'queue', 'word', false, null, null::text[], '{all,one}', null, null, null::integer, null::integer, 'queue cannot be %s', 'known are all, one'),
    ('sensor', 'every', 'long', false, null, '{every}', null::text[], null, null, null::integer, null::integer, null, null),
    ('sensor', 'after_finish', 'flag', false, null, '{every}', null::text[], null, null, null::integer, null::integer, null, null),
    ('sensor', 'at_most', 'count', false, null, '{every,workflow,table,notify,http,file,kafka}', null::text[], null, 1, 1000, null::integer, null, 'write 1 to 1000'),
    ('sensor', 'per', 'long', false, null, '{every,workflow,table,notify,http,file,kafka}', null::text[], null, null, null::integer, null::integer, null, null),
    ('sensor', 'workflow', 'word', false, null, '{workflow}', null::text[], '^[A-Za-z0-9][A-Za-z0-9._-]*$', null, 100, null::integer, '%s cannot be a name', 'letters, digits, . _ and -, at most 100'),
    ('sensor', 'when', 'words', false, 'write it like [succeeded, failed]', '{workflow}', '{succeeded,failed,skipped}', null, null, null::integer, null::integer, 'no run ends as %s', 'known are succeeded, failed, skipped'),
    ('sensor', 'table', 'word', false, null, '{table}', null::text[], '^([A-Za-z_][A-Za-z0-9_$]*|"[^"]+")([.]([A-Za-z_][A-Za-z0-9_$]*|"[^"]+"))?$', null, null::integer, null::integer, '%s is not a valid name of a table', 'write it like shop.uploads'),
    ('sensor', 'event', 'word', false, null, '{table,notify,http,file}', null::text[], null, null, null::integer, null::integer, null, null),
    ('sensor', 'notify', 'word', false, null, '{notify}', null::text[], null, null, null::integer, 63, null, null),
    ('sensor', 'http', 'flag', false, null, '{http}', null::text[], null, null, null::integer, null::integer, null, null),
    ('sensor', 'file', 'word', false, null, '{file}', null::text[], null, null, null::integer, null::integer, null, null),
    ('sensor', 'host', 'word', false, null, '{file}', null::text[], null, null, null::integer, null::integer, null, null),
    ('sensor', 'stable', 'long', false, null, '{file}', null::text[], null, null, null::integer, null::integer, null, null),
    ('sensor', 'kafka', 'word', false, null, '{kafka}', null::text[], null, null, null::integer, null::integer, null, null),
    ('sensor', 'topic', 'word', false, null, '{kafka}', null::text[], '^[A-Za-z0-9._-]+$', null, 249, null::integer, 'topic %s is not a valid name of a topic', 'write it like {kafka: main, topic: uploads}'),
    ('sensor', 'match', 'pairs', false, 'write it like match: {kind: upload}', '{kafka}', null::text[], null, null, null::integer, null::integer, null, null),
    ('notice', 'when', 'words', false, 'write it like [failed]', null::text[], '{succeeded,failed,skipped}', null, null, null::integer, null::integer, 'no run ends as %s', 'known are succeeded, failed, skipped'),
    ('notice', 'mail', 'words', false, 'write it like [ops@example.org]', null::text[], null::text[], null, null, null::integer, null::integer, null, null),
    ('notice', 'webhook', 'word', false, null, null::text[], null::text[], null, null, null::integer, null::integer, null, null),
    ('notice', 'command', 'words', false, 'write it like [./told.sh]', null::text[], null::text[], null, null, null::integer, null::integer, null, null),
    ('notice', 'unless_success_within', 'long', false, null, null::text[], null::text[], null, null, null::integer, null::integer, null, null),
    ('child', 'type', 'word', true, null, null::text[], null::text[], null, null, null::integer, 500, null, null),
    ('child', 'args', 'text', false, null, null::text[], null::text[], null, null, null::integer, null::integer, null, null),
    ('child', 'msq', 'text', false, null, null::text[], null::text[], null, null, null::integer, null::integer, null, null),
    ('child', 'repeat', 'word', false, null, null::text[], '{once,until_empty}', null, null, null::integer, null::integer, 'repeat cannot be %s', 'known are once, until_empty'),
    ('child', 'run_on', 'word', false, null, null::text[], null::text[], null, null, null::integer, 1000, null, null),
    ('child', 'share', 'word', false, null, null::text[], null::text[], null, null, 200, null::integer, null, null),
    ('child', 'priority', 'whole', false, null, null::text[], null::text[], null, -20, 19, null::integer, null, 'write -20 to 19'),
    ('child', 'run_at', 'time', false, null, null::text[], null::text[], null, null, null::integer, null::integer, null, null),
    ('child', 'held', 'flag', false, null, null::text[], null::text[], null, null, null::integer, null::integer, null, null),
    ('child', 'vars', 'pairs', false, 'write it like YEAR=2026', null::text[], null::text[], null, null, null::integer, null::integer, null, null),
    ('child', 'locks', 'words', false, 'write it like db:orders=exclusive', null::text[], null::text[], null, null, null::integer, null::integer, null, null),
    ('child', 'reasons', 'words', false, 'write it like import:2026-11', null::text[], null::text[], null, null, null::integer, null::integer, null, null),
    ('child', 'max_attempts', 'count', false, null, null::text[], null::text[], null, null, null::integer, null::integer, null, null),
    ('child', 'timeout', 'long', false, null, null::text[], null::text[], null, null, null::integer, null::integer, null, null),
    ('child', 'not_after', 'time', false, null, null::text[], null::text[], null, null, null::integer, null::integer, null, null)
    ) k (part, key, wants, required, example, kinds, choices, pattern, lowest, most, bytes, wrong, hint);
end
$$;
