-- causes: every reason that a job can have for waiting, for what it does now, and for having ended as it did. This is
-- the only place where their words are: bellhop.explanation, waiting_for, `wait` and docs/explain.md take them from here.
-- cause: the code, which stays the same, and behind a slash the form where one code has several sentences.
-- of: 'waiting', 'running', 'ended', 'row' (of an attached table), 'workflow', or 'beside' (it comes beside another). stuck: waiting alone will not change it.
-- In sentence and next, {word} is filled in (bellhop.fill). next: the command that changes it, to be typed as it stands.
-- Grant: submitter reader scheduler
create or replace function bellhop.causes()
returns table (cause text, code text, of text, stuck boolean, means text, sentence text, next text)
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select c.cause, split_part(c.cause, '/', 1), c.of, c.stuck, c.means, c.sentence, c.next
    from (values
    -- What the row itself says.
    ('held', 'waiting', true, 'it was submitted with `held`',
      'It is held: it starts when it is released.', 'bellhop release {id}'),
    ('blocked', 'waiting', false, 'a job that it needs is not over as wanted; one line each',
      'It needs job {needs} ({type}) to be {wanted}; that one is {state}.', 'bellhop explain {needs}'),
    ('blocked/ended', 'waiting', false, '',
      'It needs job {needs} ({type}) to be {wanted}; that one is {state}, and this one waits until that changes.', 'bellhop retry {needs}'),
    ('blocked/deleted', 'waiting', true, '',
      'It needs job {needs}, which was deleted, so that it can never start. Without that need it can: delete from bellhop.dependency where job = {id} and needs = {needs}.', 'bellhop cancel {id}'),
    ('blocked/unseen', 'waiting', false, '',
      'Its needs came with triggers disabled or are being changed; an instance counts them with its next look.', 'bellhop kick'),
    ('scheduled', 'waiting', false, '`run_at` has not come',
      'It is to start at {at}{in}.', 'bellhop cancel {id}'),
    ('retry_delay', 'waiting', false, 'an attempt failed, the next one is put off',
      'Attempt {attempt} of {most} failed; the next one starts at {at}{in}. It failed so: {error}', 'bellhop logs {id}'),
    ('snoozed', 'waiting', false, 'its agent has put it off, by its words or its exit code; that is no attempt',
      'Its agent has put it off: it starts at {at}{in}, and no attempt is counted.', 'bellhop logs {id}'),
    ('in_hand', 'waiting', false, 'a transaction that is not over has its row locked',
      'A transaction has its row locked{since}, and claims pass over it until that ends: {who}.', 'psql "$DATABASE_URL" -c "select pg_terminate_backend({pid})"'),
    ('in_hand/prepared', 'waiting', false, '',
      'A prepared transaction has its row locked{since}, and claims pass over it until that ends.', 'psql "$DATABASE_URL" -c "rollback prepared ''{gid}''"'),

    -- What holds back all jobs of its type, and of its place and priority.
    ('no_instance', 'waiting', true, 'no instance of the scheduler lives on this database',
      'No instance of the scheduler is running on this database{since}.', 'bellhop serve'),
    ('paused', 'waiting', true, 'an operator paused its type, or everything',
      'Type {type} is paused since {at} by {by}.', 'bellhop resume {type}'),
    ('paused/all', 'waiting', true, '',
      'Everything is paused since {at} by {by}.', 'bellhop resume'),
    ('unknown_type', 'waiting', true, 'no live instance has an agent of its type',
      'No running instance has an agent of type {type}.{there}', 'add it under agents in bellhop.yaml, then: bellhop reload'),
    ('unknown_type/row', 'waiting', true, '',
      'It is a row of an attached table with a command of its own, and no running instance obeys commands that stand in the database.',
      'write commands_from_database: true into bellhop.yaml, and start bellhop serve anew'),
    ('no_host', 'waiting', true, 'no host may run it: none answers to its `run_on` (by name, `serves` or `locate`), or those that do take no such job (`only_types`, `only_priorities`, `local`, no agent of its type)',
      'No host answers to run_on {place}{locate}.{there}', 'bellhop hosts'),
    ('no_host/none', 'waiting', true, '',
      'No instance that has its agent has a host.', 'bellhop hosts'),
    ('no_host/refused', 'waiting', true, '',
      'No host may run it: {hosts}.', 'bellhop hosts'),
    ('instance_stopping', 'waiting', true, 'the instances that could take it were told to stop',
      'Every instance that could take it has been told to stop, and starts nothing more: {instances}.', 'bellhop serve'),
    ('instance_silent', 'waiting', false, 'its instance, or those that could take it, have not been heard of; after their `lag` others take over',
      'Every instance that could take it is silent: {instances}.', 'bellhop instances'),
    ('host_down', 'waiting', true, 'the hosts that may run it cannot be reached; they are tried again by themselves',
      'No host that it may run on can be reached: {hosts}.', 'bellhop hosts'),
    ('agent_fails', 'waiting', true, 'its agent died too often, or does not come up; it is tried again after a pause, and nothing but the agent has to be mended',
      'Its agent does not come up; it is tried again after a while. By host: {hosts}.', 'bellhop agents'),
    ('exclusive', 'waiting', false, 'its agent is `exclusive`, or a job of such an agent runs, or waits to: nothing else runs beside it on that instance',
      'It starts when nothing else runs on its instance: {jobs}.', 'bellhop ls -s running'),
    ('exclusive/behind', 'waiting', false, '',
      'A job that must be alone on its instance comes first: {jobs}.', 'bellhop ls -s running'),
    ('lock_held', 'waiting', false, 'a job that runs holds a lock that does not go together with one of its own; one line each',
      'It needs the lock {lock}; job {job} ({type}) holds {held}{since}.', 'bellhop explain {job}'),
    ('lock_held/asked', 'running', false, '',
      'It has begun, and waits for a lock that its agent asked for: {what}.', 'bellhop locks'),
    ('lock_held/items', 'running', false, '',
      'All items of its query that were read wait, or let others go first: {what}.', 'bellhop locks'),
    ('no_resources', 'waiting', false, 'its agent asked for some of several locks, and too few were free; it is tried again, and that counts as no attempt',
      'Its agent asked for more locks than were free: {what}. It is tried again at {at}{in}.', 'bellhop locks'),
    ('lock_reserved', 'waiting', false, 'a job that has waited for very long comes first, and this one would be in its way',
      'It would be in the way of a job that has waited longer: {what}.', 'bellhop locks'),
    ('rate_limited', 'waiting', false, 'as many run, or have started, as a filter, or a limit among its `reasons`, allows',
      'A limit is reached: {what}.', 'bellhop locks'),
    ('rate_limited/filter', 'waiting', false, '',
      'Filter {rule} ({action}) lets no more start just now: {what}.{why}', 'bellhop filter info {rule}'),
    ('filter_paused', 'waiting', false, 'a filter says that it waits; deleting the filter lets it go',
      'Filter {rule} pauses it.{why}', 'bellhop filter info {rule}'),
    ('locks_malformed', 'waiting', true, 'its locks cannot be read, or name a level that is not configured',
      'Its locks cannot be obeyed: {what}.', 'bellhop cancel {id}'),
    ('queries_full', 'waiting', false, 'each instance reads so many queries (MSQ jobs) at once; a job of a type that has none on a host is let in beyond that',
      'Every instance that could take it reads as many queries as it may at once: {instances}.', 'bellhop ls -s running'),
    ('no_room', 'waiting', false, 'slots, `max` or `max_per_host` are used up; what holds them is told. More of them help, or a higher urgency',
      'Every place that it may take is taken: {limits}.{children} An idle child of another type makes room.', 'bellhop ls -s running'),
    ('queued', 'waiting', false, 'other jobs come first, by priority and age',
      '{jobs} of its type {come} first, by priority and age.', 'bellhop ls -s ready -t {type}'),
    ('queued/others', 'waiting', false, '',
      'More urgent work waits for the hosts that could run it: job {job} of type {other}, priority {priority}.', 'bellhop explain {job}'),
    ('waits', 'waiting', false, 'something else that the row''s `waiting_for` names',
      'It waits for: {what}.', 'bellhop show {id}'),
    ('not_looked_at', 'waiting', false, 'it is ready, and no instance has looked since it is',
      'It became ready after the last look of an instance{looked}; the next one is on its way.', 'bellhop kick'),
    ('unexplained', 'waiting', true, 'none of all these: a fault of bellhop, which an instance also writes into its log',
      'An instance has looked since it is ready, and has not taken it, and no cause is known. That is a fault of bellhop. Looked at were: {checked}. See the log of the instance, and report what it says.', 'bellhop doctor'),

    -- What it does now.
    ('child_starting', 'running', false, 'an instance has it, and a child is coming up; since when, and why the last one died',
      'Instance {instance} has it{since}: a child of its type is coming up on {host}{child}.', 'bellhop agents'),
    ('child_starting/silent', 'running', false, '',
      'Instance {instance} has it{since}: {child} runs on {host} and has not said OK yet. A plain program, which says none, wants mode: exec in bellhop.yaml.', 'bellhop agents'),
    ('last_death', 'beside', false, 'why the last child of its type died, on the host that has the job',
      'The last child of its type on {host} died at {at}, the {n}. in a row without finishing anything: {why}', 'bellhop agents'),
    ('child_starting/first', 'waiting', false, '',
      'Children of its type come up one at a time, until one has said OK or finished something: {children}.', 'bellhop agents'),
    ('running', 'running', false, 'it runs: where, by which child, since when',
      'It runs since {at} ({for}) on {host}{child}, instance {instance}, attempt {attempt} of {most}{items}.', 'bellhop logs -f {id}'),
    ('on_engine', 'running', false, 'it runs on an engine: under which tag, and what the engine says of it',
      'Its work is on engine {engine}, tag {tag}{id_there}: {stage}.', 'bellhop show {id}'),
    ('on_engine/left', 'waiting', false, '',
      'Its work is on engine {engine}, tag {tag}{id_there}, and nobody watches it: whoever takes it finds it again, and does not submit it twice.', 'bellhop show {id}'),
    ('items_wait', 'running', false, 'items of its query wait, and none of them runs: for which host, and why',
      '{n} of its items wait{place}{since}: {why}', '{next}'),
    ('items_wait/starting', 'running', false, '',
      '{n} of its items wait{place}{since}: a child of its type is coming up, or about to.', 'bellhop agents'),
    ('cancel_requested', 'running', false, 'it was asked to stop, and is not dead yet',
      'It has been asked to stop: it is over when its last process is dead.', 'bellhop cancel --now {id}'),
    ('cancel_requested/killed', 'running', false, '',
      'It has been killed (by {by}): it is over when its last process is dead.', 'bellhop cancel --now {id}'),

    ('instance_silent/one', 'running', false, '',
      'Instance {instance} ({name}) has not been heard of for {for}; after {lag} it is taken for dead, and what it holds is given to others.', 'bellhop instances'),
    ('instance_stopping/one', 'running', false, '',
      'Instance {instance} ({name}) has been told to stop ({how}), and starts nothing more.', 'bellhop instances'),

    -- How it ended.
    ('succeeded', 'ended', false, 'done; `bellhop retry ID` runs it again',
      'It is done.{items}', 'bellhop retry {id}'),
    ('no_data', 'ended', false, 'it is done, and its agent said that there was no work; who needs it goes on',
      'It is done, and there was nothing to do: it said no data. Who needs it goes on.', 'bellhop logs {id}'),
    ('skipped', 'ended', false, 'it is done, and its agent said that nothing of it is wanted this time: who needs it to have succeeded is skipped, too',
      'It is done, and said skipped: who needs it to have succeeded is passed over.', 'bellhop logs {id}'),
    ('skipped/passed_over', 'ended', false, '',
      'It never ran: job {root}, which it needs, or which one of those needs, said skipped. That is no failure.', 'bellhop explain {root}'),
    ('cancelled', 'ended', false, 'it was cancelled',
      'It was cancelled.', 'bellhop retry {id}'),
    ('filter_rejected', 'ended', false, 'a filter says REJECT, and it waited; with the filter gone, `bellhop retry ID`',
      'It was cancelled by a filter: {error}.', 'bellhop filter info {rule}'),
    ('expired', 'ended', false, 'it had not begun by its `not_after`; `bellhop retry ID` runs it all the same',
      'It is too late for it: {error}.', 'bellhop retry {id}'),
    ('killed', 'ended', false, '`killjob`',
      'It was killed by the wish of a user: {by}.', 'bellhop retry {id}'),
    ('timeout', 'ended', false, 'it took longer than its `timeout`; a longer one, then `bellhop retry ID`',
      'It took longer than it may, and was ended: {error}.', 'bellhop retry {id}'),
    ('agent_failed', 'ended', false, 'the agent said so, or its exit code',
      'Its agent failed, exit code {exit_code}: {error}', 'bellhop logs -e {id}'),
    ('agent_died', 'ended', false, 'the agent''s process ended with it in hand',
      'Its agent died with it in hand, exit code {exit_code}: {error}', 'bellhop logs -e {id}'),
    ('no_heartbeat', 'ended', false, 'its agent (dialect fossology) said for too long that nothing moves, or nothing at all',
      'Its agent was ended, since it did not move: {error}', 'bellhop logs -e {id}'),
    ('kills_guard', 'ended', false, 'three times the guard of its agent died while it ran: it kills its parent, say',
      'It takes the guard of its agent along, and runs no more: {error}', 'bellhop logs -e {id}'),
    ('quarantined', 'ended', false, 'three agents died of it; mend the agent or the job',
      '{deaths} agents have died of it, and no more shall: {error}', 'bellhop logs -e {id}'),
    ('engine_lost', 'ended', false, 'it ran on an engine, which does not know it any more; nobody knows how it ended',
      'The engine where it ran does not know it any more: {error}', 'bellhop show {id}'),
    ('submission_timeout', 'ended', false, 'an engine has not taken it within `submit_timeout`, or has taken it and never shown it',
      'It has not come to run on its engine: {error}', 'bellhop logs -e {id}'),
    ('engine_refused', 'ended', false, 'submit said that another try would give the same (exit code 65)',
      'Its engine refuses it: {error}', 'bellhop logs -e {id}'),
    ('result_refused', 'ended', false, 'what its agent gave back is too long (`limits.result`), or cannot be kept as jsonb; it is not tried again by itself',
      'What its agent gave back was not kept: {error}.', 'bellhop logs {id}'),
    ('args_too_long', 'ended', false, 'its argument is longer than the system takes on a command line',
      'Its argument is longer than a command line of the system may be.', 'bellhop show {id}'),
    ('vars_refused', 'ended', false, 'its agent does not take one of its `vars`; `agents[].vars` names those that it takes',
      'Its agent does not take what it brings: {error}.', 'bellhop show {id}'),
    ('not_data', 'ended', false, 'its data cannot be said in its agent''s dialect',
      'Its agent''s dialect cannot carry its data: {error}.', 'bellhop show {id}'),
    ('invalid_agent', 'ended', false, 'its agent''s version differs from the first that was heard, or is missing',
      'Its agent is not the one that is expected: {error}.', 'bellhop agents'),
    ('no_attachment', 'ended', false, 'it was a row of an attached table, and that was detached',
      'Its row''s table is not attached any more, so that nothing says what to run.', 'bellhop attachments'),
    ('msq_error', 'ended', false, 'PostgreSQL refuses the query, with the place in it',
      'PostgreSQL refuses its query: {error}', 'bellhop show {id}'),
    ('no_columns', 'ended', false, 'its query selects no column',
      'Its query is of no use: {error}.', 'bellhop show {id}'),
    ('items_failed', 'ended', false, 'items failed while others are done',
      '{failed} of its items failed, {done} are done.{first}', 'bellhop show {id}'),
    ('too_many_failures', 'ended', false, 'so many items failed that the rest was not tried',
      '{failed} of its items failed, {done} are done, and the rest was not tried: {error}.{first}', 'bellhop show {id}'),
    ('no_progress', 'ended', false, 'an `until_empty` query yields the same rows for ever; mend the query, or the agent',
      'Its query would have run for ever: {error}.', 'bellhop show {id}'),
    ('needs_failed', 'ended', false, 'a job that it needs ended otherwise, so it never ran',
      'It never ran: {error}.', 'bellhop explain {root}'),
    ('needs_failed/deleted', 'ended', false, '',
      'It never ran: {error}. Submit it anew without that need.', 'bellhop show {id}'),
    ('needs_cycle', 'ended', false, 'it and others needed each other; their needs came with triggers disabled',
      'It never ran: {error}.', 'bellhop graph {id}'),
    ('never_ran', 'ended', false, 'it was marked as over before it began, by hand or through a view',
      'It ended before it began: {error}', 'bellhop retry {id}'),
    ('command_failed', 'ended', false, 'a command in the queue could not be carried out',
      'The command was not carried out: {error}.', 'bellhop submit command --help'),

    -- What starts a workflow, and what keeps it from that (bellhop.explain_workflow).
    ('inactive', 'workflow', true, 'a workflow is not active',
      'It is not active: only a hand starts it.', 'bellhop workflow activate {name}'),
    ('inactive/run', 'waiting', true, '',
      'Run {run} of workflow {name} was queued when that was deactivated: it begins when it is active again.', 'bellhop workflow activate {name}'),
    ('no_sensor', 'workflow', true, 'its definition names nothing that starts it',
      'It has no sensor: only a hand starts it.', 'bellhop workflow run {name}'),
    ('nobody_starts', 'workflow', true, 'no instance that runs could start it',
      'No instance runs, and so nobody starts it.', 'bellhop serve'),
    ('nobody_starts/stopped', 'workflow', true, '',
      'The starting of workflows was stopped on every instance, by {by}{since}. What comes meanwhile is kept.', 'bellhop manager start'),
    ('nobody_starts/unseen', 'workflow', true, '',
      'No instance that runs may watch what its sensor ({kind}) waits for: `sensors` of bellhop.yaml says what each may.', 'bellhop instances'),
    ('unknown_type/step', 'workflow', true, '',
      '{steps} of type {type}, of which no running instance has an agent.{there}', 'add it under agents in bellhop.yaml, then: bellhop reload'),
    ('sensor_fails', 'workflow', false, 'its sensor cannot see, or what it saw came to no run; it tries again by itself',
      'Its sensor ({kind}) has had a problem{since}: {problem}', 'bellhop workflow show {name}'),
    ('sensor_remark', 'workflow', false, 'its sensor has passed something over, or has begun again, in the last week',
      'Its sensor ({kind}) said at {at}: {remark}.', 'bellhop workflow show {name}'),
    ('next_slot', 'workflow', false, 'when its schedule comes around',
      'Its next slot is at {at}, in {in}.', 'bellhop workflow run {name}'),
    ('awaits_event', 'workflow', false, 'its sensor has seen nothing new',
      'It starts when its sensor ({kind}) sees something new.{last}', 'bellhop workflow run {name}'),
    ('event_waits', 'workflow', false, 'something came, and no run was made of it yet',
      '{n} of its events came{since}, and no runs were made of them yet.', 'bellhop manager status'),
    ('run_open', 'workflow', false, 'a run of it is not over: by sensors one more waits behind it, and others are skipped',
      'Run {run} is {state}{since}: by its sensor one more may wait for it, and what comes besides is skipped.', 'bellhop workflow show --run {run}'),
    ('run_open/all', 'workflow', false, '',
      'Run {run} is {state}{since}, and {n} are queued. Events that fill a parameter queue, up to {room} of them; what comes besides is skipped.', 'bellhop workflow show --run {run}'),
    ('run_open/inactive', 'workflow', true, '',
      'Run {run} is queued{since}, and begins when the workflow is active again.', 'bellhop workflow activate {name}'),
    ('events_skipped', 'workflow', false, 'events came to no run, and can be run later',
      '{n} of its last events{were} skipped. Run one later: bellhop workflow run {name} --event EVENT; or all: bellhop workflow run {name} --skipped', 'bellhop workflow events {name} --state skipped'),
    ('run_skipped', 'workflow', false, 'its last run was skipped, and why',
      'The last run, {run}{of}, was skipped: {reason}', 'bellhop workflow show --run {run}'),
    ('run_failed', 'workflow', false, 'its last run failed, and why',
      'The last run, {run}{of}, has failed: {reason}', 'bellhop workflow retry {run}'),

    -- Why a row of an attached table does not run (bellhop.explain_row).
    ('attachment_broken', 'row', true, 'no row of its table runs, and why',
      'No row of {name} runs: {why}.', 'bellhop attachments'),
    ('row_has_job', 'row', false, 'the row runs, or waits as a job',
      'It has been taken: its job is {job}, which is {state}. Should it be asked for again meanwhile, it runs once more after that.', 'bellhop explain {job}'),
    ('outcome_pending', 'row', false, 'its job is over, and what became of it is not in the table yet',
      'Job {job} has {state}, and that is still to be written into the table: a transaction has the row locked.', 'bellhop explain {job}'),
    ('outcome_pending/refused', 'row', true, '',
      'Job {job} has {state}, and the table does not let that be written: {why}. It is tried again at {at}, and the row runs again only after that.', 'bellhop attach {table}'),
    ('row_set_aside', 'row', true, 'the table does not let it be marked as taken: a trigger, a rule, a constraint. Mend that; then another try at once',
      'It could not be marked as taken, and is set aside: {why}. Tried so far: {times}; tried again at {at}.', 'bellhop attach {table}'),
    ('pool_paused', 'row', true, 'the pool of its table is 0',
      'The pool of {name} is 0: nothing of it starts.', 'bellhop attach {table} --pool 4'),
    ('pool_full', 'row', false, 'as many rows of its table run as its pool has places',
      'All {pool} places of {name} are taken. {queue}', 'bellhop attach {table} --pool {more}'),
    ('pool_full/job', 'waiting', false, '',
      'It is row {key} of {name}, taken ahead of a free place, and all {pool} places are taken.', 'bellhop attachments'),
    ('pool_full/ahead', 'row', false, '',
      'All {pool} places of {name} are taken. It was taken ahead of a free one, as job {job}. {queue}', 'bellhop attach {table} --pool {more}'),
    ('row_waits', 'row', false, 'other rows of its table come first, in the order of their keys',
      '{queue} At most {pool} rows of {name} run at once.', 'bellhop attach {table} --pool {more}'),
    ('row_ran', 'row', false, 'it is not asked for: its dispatch column is not NULL',
      'It ran last as job {job}, which is {state}. It runs again when its dispatch column is set to NULL.', 'bellhop explain {job}'),
    ('row_ran/never', 'row', false, '',
      'Its dispatch column is not NULL, and it was not run as a row of {name}. It runs when that is set to NULL.', 'bellhop explain {name} {key}'),
    ('not_taken', 'row', false, 'there is no such row, or its transaction is not over, or it is locked',
      'It is the next row to be taken: when nothing has it locked any more, at the latest 5 s after that.', 'bellhop kick'),
    ('not_taken/missing', 'row', false, '',
      'There is no row with the key {key}, or its transaction is not over.', 'bellhop kick'),
    ('not_taken/unread', 'row', false, '',
      'You may not read its table. The row is taken in its turn if its dispatch column is NULL, its transaction has ended, and nothing has it locked. {queue}', 'bellhop kick'),
    ('not_taken/inherited', 'row', false, '',
      'It has never been taken. It is if there is a row with the key {key} and its dispatch column is NULL. Rows of tables that inherit from this one are not its own, and are not run: {children}.', 'bellhop kick'),

    -- What comes beside these.
    ('chain', 'beside', false, 'what it waits for waits for another job itself: one after the other, down to the one that waits for none',
      'It waits for {chain}.', 'bellhop explain {last}'),
    ('step_of', 'beside', false, 'it is a step of a workflow',
      'It is step {step} of run {run} of workflow {workflow}, which is {state}.', 'bellhop workflow show --run {run}'),
    ('ran_on', 'beside', false, 'attempt, host, child, from when to when',
      'Attempt {attempt} of {most}, on {host}{child}, from {from} to {to} ({for}).', 'bellhop show {id}'),
    ('lost', 'beside', false, 'a run of it was lost with its host or instance and given back; it counts as no attempt',
      'Lost: {reason}, given back. That run was on {host}{child}, from {from} to {to} ({for}), and counts as no attempt.{more}', 'bellhop trace {id}'),
    ('last_words', 'beside', false, 'the last lines of stderr, `ERROR` and the scheduler''s notes; for operators',
      e'The last that was said:\n    {words}', 'bellhop logs -e {id}')
  ) as c (cause, of, stuck, means, sentence, next)
$$;

-- fill: a template with {word}s replaced by what args has under them; nothing for what it has not. What is put in is not
-- looked at again.
-- Grant: submitter reader scheduler
create or replace function bellhop.fill(template text, args jsonb) returns text
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select string_agg(m[1] || coalesce(args ->> m[2], ''), '' order by n)
    from regexp_matches(template, e'([^{]*)(?:\\{([a-z_]+)\\})?', 'g') with ordinality x (m, n)
$$;

-- reason: a cause in words. An unknown one is a fault of bellhop, and says so rather than nothing.
-- Grant: submitter reader scheduler
create or replace function bellhop.reason(cause text, args jsonb default '{}') returns table (code text, sentence text, next text)
language sql immutable parallel safe
set search_path = pg_catalog, bellhop, pg_temp
as $$
  select coalesce(c.code, reason.cause), coalesce(bellhop.fill(c.sentence, reason.args), reason.args::text),
         coalesce(bellhop.fill(c.next, reason.args), 'bellhop doctor')
    from (select) one
    left join bellhop.causes() c on c.cause = reason.cause
$$;

-- since: how long ago something was, as it stands in a sentence; nothing for NULL.
-- Grant: submitter reader scheduler
create or replace function bellhop.since(at timestamptz) returns text
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
set "DateStyle" = 'ISO, MDY' set "IntervalStyle" = 'postgres' -- of times in sentences
as $$
  select ' since ' || date_trunc('second', at) || ' (' || date_trunc('second', greatest(clock_timestamp() - at, interval '0')) || ')'
$$;
