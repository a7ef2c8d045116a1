-- Made from scheduler/grammar by make generate.

-- definition_keys: the keys that each part of a definition may have, and the kind of each value.
-- Grant: scheduler
create or replace function bellhop.definition_keys() returns table (part text, n integer, key text, wants text, required boolean, example text)
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select k.part, row_number() over ()::integer, k.key, k.wants, k.required, k.example
    from (values
    ('', 'workflow', 'word', true, null),
    ('', 'project', 'word', false, null),
    ('', 'active', 'flag', false, null),
    ('', 'sensor', 'part', false, null),
    ('', 'parameters', 'pairs', false, 'write it like parameters: {DAY: today}'),
    ('', 'steps', 'list', true, 'write it like - {name: fetch, type: sh, args: "…"}'),
    ('', 'notify', 'list', false, 'write it like - {when: [failed], mail: [ops@example.org]}'),
    ('step', 'name', 'word', true, null),
    ('step', 'type', 'word', true, null),
    ('step', 'args', 'text', false, null),
    ('step', 'msq', 'text', false, null),
    ('step', 'after', 'words', false, 'write it like [fetch]'),
    ('step', 'run_on', 'word', false, null),
    ('step', 'priority', 'whole', false, null),
    ('step', 'vars', 'pairs', false, 'write it like vars: {USERID: 7}'),
    ('step', 'locks', 'words', false, 'write it like ["customer:7=exclusive"]'),
    ('step', 'max_attempts', 'count', false, null),
    ('step', 'timeout', 'long', false, null),
    ('step', 'on_failure', 'word', false, null),
    ('sensor', 'cron', 'word', false, null),
    ('sensor', 'zone', 'word', false, null),
    ('sensor', 'catch_up', 'word', false, null),
    ('sensor', 'queue', 'word', false, null),
    ('sensor', 'every', 'long', false, null),
    ('sensor', 'after_finish', 'flag', false, null),
    ('sensor', 'at_most', 'count', false, null),
    ('sensor', 'per', 'long', false, null),
    ('sensor', 'workflow', 'word', false, null),
    ('sensor', 'when', 'words', false, 'write it like [succeeded, failed]'),
    ('sensor', 'table', 'word', false, null),
    ('sensor', 'event', 'word', false, null),
    ('sensor', 'notify', 'word', false, null),
    ('sensor', 'http', 'flag', false, null),
    ('sensor', 'file', 'word', false, null),
    ('sensor', 'host', 'word', false, null),
    ('sensor', 'stable', 'long', false, null),
    ('sensor', 'kafka', 'word', false, null),
    ('sensor', 'topic', 'word', false, null),
    ('sensor', 'match', 'pairs', false, 'write it like match: {kind: upload}'),
    ('notice', 'when', 'words', false, 'write it like [failed]'),
    ('notice', 'mail', 'words', false, 'write it like [ops@example.org]'),
    ('notice', 'webhook', 'word', false, null),
    ('notice', 'command', 'words', false, 'write it like [./told.sh]'),
    ('notice', 'unless_success_within', 'long', false, null)
    ) k (part, key, wants, required, example)
$$;
