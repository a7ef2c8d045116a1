-- causes: every reason why a job waits, why it does what it does now, and why it ended as it did. Their words stand
-- here alone: bellhop.explanation, waiting_for, `wait` and docs/explain.md take them from here.
-- cause: the code, which stays the same; behind a slash the form, where one code has several sentences.
-- of: 'waiting', 'running', 'ended', 'row' (of an attached table), 'workflow', or 'beside' (it comes beside another).
-- stuck: waiting alone will not change it.
-- In sentence and next, {word} is filled in (bellhop.fill). next: the command that changes it, to be typed as it
-- stands.
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
    ('blocked', 'waiting', false, 'a job that it needs has not ended in a wanted state; one line for each such job',
      'It needs job {needs} ({type}) to be {wanted}; that one is {state}.', 'bellhop explain {needs}'),
    ('blocked/ended', 'waiting', false, '',
      'It needs job {needs} ({type}) to be {wanted}; that one is {state}, and this one waits until that changes.', 'bellhop retry {needs}'),
    ('blocked/deleted', 'waiting', true, '',
      'It needs job {needs}, which was deleted, so that it can never start. Without that need it can: delete from bellhop.dependency where job = {id} and needs = {needs}.', 'bellhop cancel {id}'),
    ('blocked/unseen', 'waiting', false, '',
      'Its needs came with triggers disabled or are being changed; an instance counts them with its next look.', 'bellhop kick'),
    ('scheduled', 'waiting', false, 'its `run_at` is in the future',
      'It is to start at {at}{in}.', 'bellhop edit {id} --at now'),
    ('retry_delay', 'waiting', false, 'an attempt failed; the next one starts after a pause',
      'Attempt {attempt} of {most} failed; the next one starts at {at}{in}. It failed so: {error}', 'bellhop edit {id} --at now'),
    ('snoozed', 'waiting', false, 'its agent put it off (snooze), by an answer or by an exit code; this does not count as an attempt',
      'Its agent has put it off: it starts at {at}{in}, and no attempt is counted.', 'bellhop edit {id} --at now'),
    ('no_key', 'waiting', true, 'its args or vars are [sealed](encryption.md) with a key that its instance or worker does not have; this does not count as an attempt',
      'It is {what}; {have}. It is tried again at {at}{in}, and no attempt is counted.', 'add the key to the file of encryption.keys in bellhop.yaml, then: bellhop reload'),
    ('sleeps', 'waiting', false, 'its agent put it to sleep (a [step](steps.md) of its work); this does not count as an attempt',
      'It sleeps{since}, until {at}{in}, and no attempt is counted.{keeps}', 'bellhop edit {id} --at now'),
    ('awaits_event', 'waiting', false, 'its agent awaits an event ([steps](steps.md)); this does not count as an attempt. Of a workflow: its sensor has seen nothing new',
      'It awaits event {event}{since}, until {at}{in}, and no attempt is counted.{keeps}', 'bellhop emit {quoted}'),
    ('awaits_event/ever', 'waiting', false, '',
      'It awaits event {event}{since}, for as long as it takes, and no attempt is counted.{keeps}', 'bellhop emit {quoted}'),
    ('in_hand', 'waiting', false, 'an open transaction has locked its row. The line names the session: look at what it does before you end it',
      'A transaction has its row locked{since}, and claims pass over it until that ends: {who}.', 'psql "$DATABASE_URL" -c "select pg_terminate_backend({pid})"'),
    ('in_hand/brief', 'waiting', false, '',
      'A transaction has its row locked{since}: {who}. Most end at once, and claims pass over the row until then.', 'bellhop explain {id}'),
    ('in_hand/prepared', 'waiting', false, '',
      'A prepared transaction has its row locked{since}, and claims pass over it until that ends.', 'psql "$DATABASE_URL" -c "rollback prepared ''{gid}''"'),

    -- What holds back all jobs of its type, and of its place and priority.
    ('read_only', 'waiting', true, 'the database takes no writes: a standby that was not promoted, or `default_transaction_read_only`; instances wait for a server that takes writes',
      'The database takes no writes (default_transaction_read_only is on), so that no instance starts or ends anything; the last one was heard of{since}.', 'echo ''set default_transaction_read_only = off; alter database :"DBNAME" reset default_transaction_read_only'' | psql "$DATABASE_URL"'),
    ('read_only/standby', 'waiting', true, '',
      'This server is a standby and takes no writes, so that no instance starts or ends anything here; the last one was heard of{since}. Work goes on when it is promoted, or where its primary is.', 'psql "$DATABASE_URL" -c "select pg_promote()"'),
    ('read_only/fed', 'waiting', true, '',
      'This server is a standby of one where instances work, and knows only that the job is {state}: the primary server knows more.', 'bellhop explain {id} --database-url postgres://PRIMARY'),
    ('no_instance', 'waiting', true, 'no instance runs on this database',
      'No instance of the scheduler is running on this database{since}.', 'bellhop serve'),
    ('paused', 'waiting', true, 'an operator paused its type, or everything',
      'Type {type} is paused since {at} by {by}.', 'bellhop resume {type}'),
    ('paused/all', 'waiting', true, '',
      'Everything is paused since {at} by {by}.', 'bellhop resume'),
    ('unknown_type', 'waiting', true, 'no live instance has an agent of its type',
      'No running instance has an agent of type {type}.{there}', 'add it under agents in bellhop.yaml, then: bellhop reload'),
    ('unknown_type/worker', 'waiting', true, '',
      'No agent can be of type {type}: names of agents have only letters, digits and _ - : in them. A worker can take it (bellhop.take, docs/workers.md), and the table worker_type names no login for that type.', 'psql "$DATABASE_URL" -c "table bellhop.worker_type"'),
    ('unknown_type/row', 'waiting', true, '',
      'It is a row of an attached table with a command of its own, and no running instance obeys commands that stand in the database.',
      'write commands_from_database: true into bellhop.yaml, and restart bellhop serve'),
    ('no_worker', 'waiting', false, 'no live instance has an agent of its type; workers may take it, and none has',
      'No running instance has an agent of type {type}, and no worker {taken}. These logins may: {logins}.', 'psql "$DATABASE_URL" -c "table bellhop.worker_type"'),
    ('no_host', 'waiting', true, 'no host may run it. None matches its `run_on` (by name, `serves` or `locate`). Or those that match refuse it (`only_types`, `only_priorities`, `local`, no agent of its type)',
      'No host answers to run_on {place}{locate}.{there}', 'bellhop hosts'),
    ('no_host/none', 'waiting', true, '',
      'No instance that has its agent has a host.', 'bellhop hosts'),
    ('no_host/refused', 'waiting', true, '',
      'No host may run it: {what}.', 'bellhop hosts'),
    ('instance_stopping', 'waiting', true, 'the instances that could take it were told to stop',
      'Every instance that could take it has been told to stop, and starts nothing more: {what}.', 'bellhop serve'),
    ('instance_silent', 'waiting', false, 'its instance, or every instance that could take it, sends no heartbeat; after its `lag` other instances take over',
      'Every instance that could take it is silent: {what}.', 'bellhop instances'),
    ('instance_busy', 'waiting', false, 'the instances that could take it claim no jobs at the moment; the line says why. For example, they re-assert their jobs after a lost connection',
      'No instance that could take it claims anything just now: {what}.', 'bellhop instances'),
    ('host_down', 'waiting', true, 'the hosts that may run it cannot be reached; instances try them again by themselves',
      'No host that it may run on can be reached: {what}.', 'bellhop hosts'),
    ('agent_fails', 'waiting', true, 'its agent died too often, or does not come up; bellhop tries it again after a pause. The agent needs a fix, the job does not',
      'Its agent does not come up; it is tried again after a while. By host: {what}.', 'bellhop agents'),
    ('agent_fails/works', 'waiting', true, '',
      'Its agent comes up, and dies while it works; it is started again after a pause. By host: {what}.', 'bellhop logs {id}'),
    ('exclusive', 'waiting', false, 'a job of an `exclusive` agent runs alone on its instance. Either this job is exclusive, or an exclusive job runs or waits on that instance',
      'It starts when nothing else runs on its instance: {what}.', 'bellhop ls -s running'),
    ('exclusive/behind', 'waiting', false, '',
      'A job that must be alone on its instance comes first: {what}.', 'bellhop ls -s running'),
    ('lock_held', 'waiting', false, 'a running job holds a lock that conflicts with one of its own; one line for each such job',
      'It needs the lock {lock}; job {job} ({type}) holds {held}{since}.', 'bellhop explain {job}'),
    ('lock_held/asked', 'running', false, '',
      'It has begun, and waits for a lock that its agent asked for: {what}.', 'bellhop locks'),
    ('lock_held/items', 'running', false, '',
      'All items of its query that were read wait, or let others go first: {what}.', 'bellhop locks'),
    ('no_resources', 'waiting', false, 'its agent asked for several locks out of a list, and too few of them were free. The job is tried again, and this does not count as an attempt',
      'Its agent asked for more locks than were free: {what}. It is tried again at {at}{in}.', 'bellhop locks'),
    ('lock_reserved', 'waiting', false, 'a job that has waited for a very long time comes first, and this job would block it',
      'It would be in the way of a job that has waited longer: {what}.', 'bellhop locks'),
    ('rate_limited', 'waiting', false, 'a filter, or a tag such as `rate-limit:3:mail` among its `reasons`, lets no more jobs run or start now',
      'A limit is reached: {what}.', 'bellhop locks'),
    ('rate_limited/filter', 'waiting', false, '',
      'Filter {rule} ({action}) lets no more start just now: {what}.{why}', 'bellhop filter info {rule}'),
    ('filter_paused', 'waiting', false, 'a filter makes it wait; deleting the filter releases it',
      'Filter {rule} pauses it.{why}', 'bellhop filter info {rule}'),
    ('locks_malformed', 'waiting', true, 'its locks cannot be read, or name a level that is not configured (`policy.levels`)',
      'Its locks cannot be obeyed: {what}.', 'bellhop cancel {id}'),
    ('locks_malformed/level', 'waiting', true, '',
      'Its locks cannot be obeyed: {what}.', 'add the level to policy.levels in bellhop.yaml, and restart bellhop serve'),
    ('queries_full', 'waiting', false, 'each instance already reads as many queries (MSQ jobs) as it may. Above that number, it starts a query on a host only if no other query of its type runs there',
      'Every instance that could take it reads as many queries as it may at once: {what}.', 'bellhop ls -s running'),
    ('no_room', 'waiting', false, 'slots, a [resource](hosts.md#resources), `max` or `max_per_host` are used up, or kept for a job that waits for more; the line names the holders. Raise the limit, or type `bellhop edit ID --priority -5`',
      'All slots that it may use are taken: {what}.{children} An idle child of another type will be stopped for it.', 'bellhop ls -s running'),
    ('no_room/resource', 'waiting', false, '',
      'Too little is left of a resource: {what}.{children}', 'bellhop ls -s running'),
    ('fair_share', 'waiting', false, 'the keys of its type and priority take turns (`share`), and it is not the turn of its key',
      'Keys of type {type} take turns, and {jobs} before it: {next}; its key is {key}.', 'bellhop share ls {type}'),
    ('queued', 'waiting', false, 'other jobs come first, by priority and age',
      '{jobs} of its type {come} first, by priority and age.', 'bellhop ls -s ready -t {type}'),
    ('queued/others', 'waiting', false, '',
      'More urgent work waits for the hosts that could run it: job {job} of type {other}, priority {priority}.', 'bellhop explain {job}'),
    ('waits', 'waiting', false, 'something else that the row''s `waiting_for` names',
      'It waits for: {what}.', 'bellhop show {id}'),
    ('not_looked_at', 'waiting', false, 'it is ready, and no instance has looked since it became ready',
      'It became ready after the last look of an instance{looked}; the next one is on its way.', 'bellhop kick'),
    ('unexplained', 'waiting', true, 'none of these: a bug in bellhop, which an instance also logs',
      'An instance has looked since it is ready, and has not taken it, and no cause is known. That is a fault of bellhop. Looked at were: {what}. See the log of the instance, and report what it says.', 'bellhop doctor'),

    -- What it does now.
    ('child_starting', 'running', false, 'an instance has it, and a child is starting; the line says since when, and why the last child died',
      'Instance {instance} has it{since}: a child of its type is coming up on {host}{child}.', 'bellhop agents'),
    ('child_starting/silent', 'running', false, '',
      'Instance {instance} has it{since}: {child} runs on {host} and has not said OK yet. A plain program, which says none, wants mode: exec in bellhop.yaml; an agent in Python has to flush it: print("OK", flush=True).', 'bellhop agents'),
    ('last_death', 'beside', false, 'why the last child of its type died, on the host that has the job',
      'The last child of its type on {host} died at {at}, the {n}. in a row without finishing anything: {why}', 'bellhop agents'),
    ('child_starting/first', 'waiting', false, '',
      'Children of its type come up one at a time, until one has said OK or finished something: {what}.', 'bellhop agents'),
    ('running', 'running', false, 'it runs: where, by which child, since when',
      'It runs since {at} ({for}) on {host}{child}, instance {instance}, attempt {attempt} of {most}{items}.', 'bellhop logs -f {id}'),
    ('running/worker', 'running', false, '',
      'It runs since {at} ({for}) in a session of {host}, pid {pid} on the server, attempt {attempt} of {most}; its lease ends at {until}.', 'bellhop show {id}'),
    ('on_engine', 'running', false, 'it runs on an engine: under which tag, and what the engine reports',
      'Its work is on engine {engine}, tag {tag}{id_there}: {stage}.', 'bellhop show {id}'),
    ('on_engine/left', 'waiting', false, '',
      'Its work is on engine {engine}, tag {tag}{id_there}, and no instance watches it: the next claim finds it again, and does not submit it twice.', 'bellhop show {id}'),
    ('items_wait', 'running', false, 'items of its query wait, and none of them runs; the line says for which host, and why',
      '{n} of its items wait{place}{since}: {why}', '{next}'),
    ('items_wait/starting', 'running', false, '',
      '{n} of its items wait{place}{since}: a child of its type is coming up, or about to.', 'bellhop agents'),
    ('cancel_requested', 'running', false, 'it was told to stop, and its last process is not dead yet',
      'It has been asked to stop: it is over when its last process is dead.', 'bellhop cancel --now {id}'),
    ('cancel_requested/killed', 'running', false, '',
      'It has been killed (by {by}): it is over when its last process is dead.', 'bellhop cancel --now {id}'),

    ('instance_silent/one', 'running', false, '',
      'Instance {instance} ({name}) has not been heard of for {for}; after {lag} it is taken for dead, and what it holds is given to others.', 'bellhop instances'),
    ('instance_stopping/one', 'running', false, '',
      'Instance {instance} ({name}) has been told to stop ({how}), and starts nothing more.', 'bellhop instances'),

    -- How it ended.
    ('succeeded', 'ended', false, 'done; `bellhop retry ID` runs it again',
      'It is done.{items}', 'bellhop logs {id}'),
    ('no_data', 'ended', false, 'it is done, and its agent said that there was no work; jobs that need it can start',
      'It is done, and there was nothing to do: it said no data. Jobs that need it go on.', 'bellhop logs {id}'),
    ('skipped', 'ended', false, 'it is done, and its agent said `skipped`: a job that needs its success does not run this time',
      'It is done, and said skipped: jobs that need its success are passed over.', 'bellhop logs {id}'),
    ('skipped/passed_over', 'ended', false, '',
      'It never ran: job {root}, which it needs, or which one of those needs, said skipped. That is not a failure.', 'bellhop explain {root}'),
    ('cancelled', 'ended', false, 'it was cancelled',
      'It was cancelled.', 'bellhop retry {id}'),
    ('filter_rejected', 'ended', false, 'a filter rejected it (REJECT) while it waited; once the filter is gone, `bellhop retry ID` runs it',
      'It was cancelled by a filter: {error}.', 'bellhop filter info {rule}'),
    ('expired', 'ended', false, 'it had not begun by its `not_after`; `bellhop retry ID` still runs it',
      'It is too late for it: {error}.', 'bellhop retry {id}'),
    ('killed', 'ended', false, 'it was killed by the command `killjob`',
      'It was killed by the wish of a user: {by}.', 'bellhop retry {id}'),
    ('timeout', 'ended', false, 'it took longer than its `timeout`; set a longer one, then `bellhop retry ID` runs it again',
      'It took longer than it may, and was ended: {error}.', 'bellhop retry {id}'),
    ('agent_failed', 'ended', false, 'its agent reported a failure, by its answer or its exit code',
      'Its agent failed, exit code {exit_code}: {error}', 'bellhop logs -e {id}'),
    ('agent_died', 'ended', false, 'the agent''s process ended while it worked on the job',
      'Its agent died while it worked on it, exit code {exit_code}: {error}', 'bellhop logs -e {id}'),
    ('no_heartbeat', 'ended', false, 'its agent (dialect fossology) reported no progress, or nothing at all, for too long',
      'Its agent was ended, since it did not move: {error}', 'bellhop logs -e {id}'),
    ('kills_guard', 'ended', false, 'the guard (the process that starts and watches agents) died three times during this job: for example, because the agent kills its parent',
      'It takes the guard of its agent along, and runs no more: {error}', 'bellhop logs -e {id}'),
    ('quarantined', 'ended', false, 'three agents died while they worked on it; fix the agent or the job',
      '{deaths} agents have died of it, and no more shall: {error}', 'bellhop logs -e {id}'),
    ('engine_lost', 'ended', false, 'it ran on an engine that no longer knows it; how it ended is unknown',
      'The engine where it ran does not know it any more: {error}', 'bellhop show {id}'),
    ('submission_timeout', 'ended', false, 'the engine did not accept it within `submit_timeout`, or accepted it but never listed it',
      'It has not come to run on its engine: {error}', 'bellhop logs -e {id}'),
    ('engine_refused', 'ended', false, 'the engine''s `submit` command said that a retry would fail in the same way (exit code 65)',
      'Its engine refuses it: {error}', 'bellhop logs -e {id}'),
    ('result_refused', 'ended', false, 'its agent''s result is too long (`limits.result`), or cannot be kept as jsonb; there is no automatic retry',
      'What its agent gave back was not kept: {error}.', 'bellhop logs {id}'),
    ('step_refused', 'ended', false, 'a [step](steps.md) of its agent could not be kept: the same name with another output, a bad name, or too many or too long outputs',
      'A step of its work could not be kept: {error}.', 'bellhop logs {id}'),
    ('args_too_long', 'ended', false, 'its argument is longer than the system allows on a command line',
      'Its argument is longer than a command line of the system may be.', 'bellhop show {id}'),
    ('vars_refused', 'ended', false, 'its agent does not accept one of its `vars`; `agents[].vars` lists those that it accepts',
      'Its agent does not take what it brings: {error}.', 'bellhop show {id}'),
    ('sealed_broken', 'ended', false, 'its args or vars are [sealed](encryption.md), and its key does not open them: they were changed, or sealed for another type or place',
      'What it was given cannot be opened: {error}.', 'bellhop show {id}'),
    ('not_data', 'ended', false, 'its agent''s dialect cannot carry its data',
      'Its agent''s dialect cannot carry its data: {error}.', 'bellhop show {id}'),
    ('invalid_agent', 'ended', false, 'its agent reported no version, or another version than the one reported first',
      'Its agent is not the one that is expected: {error}.', 'bellhop agents'),
    ('no_attachment', 'ended', false, 'it was a row of an attached table, which was detached',
      'Its row''s table is not attached any more, so that nothing says what to run.', 'bellhop attachments'),
    ('msq_error', 'ended', false, 'PostgreSQL refuses the query; the error names the position',
      'PostgreSQL refuses its query: {error}', 'bellhop show {id}'),
    ('no_columns', 'ended', false, 'its query selects no column',
      'Its query is of no use: {error}.', 'bellhop show {id}'),
    ('items_failed', 'ended', false, 'some items failed, and the others are done',
      '{failed} of its items failed, {done} are done.{first}', 'bellhop show {id}'),
    ('too_many_failures', 'ended', false, 'so many items failed that the others were not tried',
      '{failed} of its items failed, {done} are done, and the rest was not tried: {error}.{first}', 'bellhop show {id}'),
    ('no_progress', 'ended', false, 'a query with `repeat` = `until_empty` yields the same rows for ever; fix the query, or the agent',
      'Its query would have run for ever: {error}.', 'bellhop show {id}'),
    ('needs_failed', 'ended', false, 'a job that it needs did not end in a wanted state, so this job never ran',
      'It never ran: {error}.', 'bellhop explain {root}'),
    ('needs_failed/deleted', 'ended', false, '',
      'It never ran: {error}. Submit it again without that need.', 'bellhop show {id}'),
    ('step_result', 'ended', false, 'it is a step that takes the result of an earlier step, and that step gave no result, a result without that field, or one that is too long',
      'It never ran: {error}. Once the earlier step gives it, try again.', 'bellhop retry {id}'),
    ('needs_cycle', 'ended', false, 'it and other jobs need each other; these dependencies were inserted while triggers were disabled',
      'It never ran: {error}.', 'bellhop graph {id}'),
    ('never_ran', 'ended', false, 'it was marked as ended before it started, by hand or through a view',
      'It ended before it began: {error}', 'bellhop retry {id}'),
    ('command_failed', 'ended', false, 'bellhop could not carry out a command in the queue',
      'The command was not carried out: {error}.', 'bellhop submit command --help'),

    -- What starts a workflow, and what keeps it from that (bellhop.explain_workflow).
    ('inactive', 'workflow', true, 'a workflow is not active',
      'It is not active: only a hand starts it.', 'bellhop workflow activate {name}'),
    ('inactive/run', 'waiting', true, '',
      'Run {run} of workflow {name} was queued when that was deactivated: it begins when it is active again.', 'bellhop workflow activate {name}'),
    ('no_sensor', 'workflow', true, 'its definition has no sensor',
      'It has no sensor: only a hand starts it.', 'bellhop workflow run {name}'),
    ('nobody_starts', 'workflow', true, 'no running instance could start it',
      'No instance runs, so it is not started.', 'bellhop serve'),
    ('nobody_starts/stopped', 'workflow', true, '',
      'The starting of workflows was stopped on every instance, by {by}{since}. New events are kept.', 'bellhop manager start'),
    ('nobody_starts/unseen', 'workflow', true, '',
      'No instance that runs may watch what its sensor ({kind}) waits for: `sensors` of bellhop.yaml says what each may.', 'bellhop instances'),
    ('unknown_type/step', 'workflow', true, '',
      '{steps} of type {type}, of which no running instance has an agent.{there}', 'add it under agents in bellhop.yaml, then: bellhop reload'),
    ('sensor_fails', 'workflow', false, 'its sensor cannot read its source, or an event led to no run; the sensor tries again',
      'Its sensor ({kind}) has had a problem{since}: {problem}', 'bellhop workflow show {name}'),
    ('sensor_remark', 'workflow', false, 'in the last week, the workflow''s sensor skipped a part of its source, or started over',
      'Its sensor ({kind}) said at {at}: {remark}.', 'bellhop workflow show {name}'),
    ('next_slot', 'workflow', false, 'the next time in its schedule',
      'Its next slot is at {at}, in {in}.', 'bellhop workflow run {name}'),
    ('awaits_event/sensor', 'workflow', false, '',
      'It starts when its sensor ({kind}) sees something new.{last}', 'bellhop workflow run {name}'),
    ('event_waits', 'workflow', false, 'an event came, and has no run yet',
      '{n} of its events came{since}, and no runs were made of them yet.', 'bellhop manager status'),
    ('run_open', 'workflow', false, 'one of the workflow''s runs has not ended. Further events wait for it, up to the number that `queue` allows; the rest are skipped',
      'Run {run} is {state}{since}: one more event of its sensor may wait for it, and further ones are skipped.', 'bellhop workflow show --run {run}'),
    ('run_open/all', 'workflow', false, '',
      'Run {run} is {state}{since}, and {n} are queued. Events that fill a parameter queue, up to {room} of them; further ones are skipped.', 'bellhop workflow show --run {run}'),
    ('run_open/inactive', 'workflow', true, '',
      'Run {run} is queued{since}, and begins when the workflow is active again.', 'bellhop workflow activate {name}'),
    ('events_skipped', 'workflow', false, 'events led to no run, and can be run later',
      '{n} of its last events{were} skipped. Run one later: bellhop workflow run {name} --event EVENT; or all: bellhop workflow run {name} --skipped', 'bellhop workflow events {name} --state skipped'),
    ('run_skipped', 'workflow', false, 'its last run was skipped; the line says why',
      'The last run, {run}{of}, was skipped: {reason}', 'bellhop workflow show --run {run}'),
    ('run_failed', 'workflow', false, 'its last run failed; the line says why',
      'The last run, {run}{of}, has failed: {reason}', 'bellhop workflow retry {run}'),

    -- Why a row of an attached table does not run (bellhop.explain_row).
    ('attachment_broken', 'row', true, 'no row of its table runs; the line says why',
      'No row of {name} runs: {why}.', 'bellhop attachments'),
    ('row_has_job', 'row', false, 'the row runs, or waits as a job',
      'It has been taken as job {job} ({state}). If another run is asked for now, it runs once more after that.', 'bellhop explain {job}'),
    ('outcome_pending', 'row', false, 'its job is over, and the outcome is not in the table yet',
      'Job {job} has {state}, and that is still to be written into the table: a transaction has the row locked.', 'bellhop explain {job}'),
    ('outcome_pending/refused', 'row', true, '',
      'Job {job} has {state}, and the table does not let that be written: {why}. It is tried again at {at}, and the row runs again only after that.', 'bellhop attach {table}'),
    ('row_set_aside', 'row', true, 'bellhop cannot mark the row as taken: a trigger, a rule or a constraint of the table prevents it. Fix that; the command makes bellhop try again at once',
      'It could not be marked as taken, and is set aside: {why}. Tried so far: {times}; tried again at {at}.', 'bellhop attach {table}'),
    ('pool_paused', 'row', true, 'the pool of its table is 0',
      'The pool of {name} is 0: nothing of it starts.', 'bellhop attach {table} --pool 4'),
    ('pool_full', 'row', false, 'all places of its table''s pool are taken',
      'All {pool} places of {name} are taken. {queue}', 'bellhop attach {table} --pool {more}'),
    ('pool_full/job', 'waiting', false, '',
      'It is row {key} of {name}, taken ahead of a free place, and all {pool} places are taken.', 'bellhop attachments'),
    ('pool_full/ahead', 'row', false, '',
      'All {pool} places of {name} are taken. It was taken ahead of a free one, as job {job}. {queue}', 'bellhop attach {table} --pool {more}'),
    ('row_waits', 'row', false, 'other rows of its table come first, in the order of their keys',
      '{queue} At most {pool} rows of {name} run at once.', 'bellhop attach {table} --pool {more}'),
    ('row_ran', 'row', false, 'its dispatch column is not NULL, so bellhop leaves it alone',
      'It ran last as job {job} ({state}). It runs again when its dispatch column is set to NULL.', 'bellhop explain {job}'),
    ('row_ran/never', 'row', false, '',
      'Its dispatch column is not NULL, and it was not run as a row of {name}. It runs when that is set to NULL.', 'bellhop explain {name} {key}'),
    ('not_taken', 'row', false, 'the row does not exist, or its transaction is not over, or it is locked',
      'It is the next row to be taken: when nothing has it locked any more, at the latest 5 s after that.', 'bellhop kick'),
    ('not_taken/missing', 'row', false, '',
      'There is no row with the key {key}, or its transaction is not over.', 'bellhop kick'),
    ('not_taken/unread', 'row', false, '',
      'You may not read its table. The row is taken in its turn if its dispatch column is NULL, its transaction has ended, and nothing has it locked. {queue}', 'bellhop kick'),
    ('not_taken/inherited', 'row', false, '',
      'It was never taken. It is taken if there is a row with the key {key} and its dispatch column is NULL. Rows of tables that inherit from this one do not run: {children}.', 'bellhop kick'),

    -- What comes beside these.
    ('chain', 'beside', false, 'the job that it waits for is waiting, too. The line shows the whole chain, down to a job that waits for no other',
      'It waits for {chain}.', 'bellhop explain {last}'),
    ('step_of', 'beside', false, 'it is a step of a workflow',
      'It is step {step} of run {run} of workflow {workflow}. That run is {state}.', 'bellhop workflow show --run {run}'),
    ('promise_in_danger', 'beside', false, 'the job was promised by a time (`submit --by`), and by the forecast it ends later, or expires before it starts',
      'It was promised by {by}, and that is in danger: {why}.', 'bellhop edit {id} --priority -20'),
    ('promised', 'beside', false, 'the job was promised by a time; the line says what was forecast, or the outcome of the promise',
      'It was promised by {by}: it starts about {starts} and ends about {ends}, with a certainty of {certainty} %.', 'bellhop show {id}'),
    ('promised/unknown', 'beside', false, '',
      'It was promised by {by}, and no forecast was asked for.', 'bellhop show {id}'),
    ('promised/kept', 'beside', false, '',
      'It was promised by {by}, and that was kept: {why}.', 'bellhop show {id}'),
    ('promised/missed', 'beside', false, '',
      'It was promised by {by}, and that was missed: {why}.', 'bellhop trace {id}'),
    ('promised/void', 'beside', false, '',
      'It was promised by {by}. That is over: {why}.', 'bellhop show {id}'),
    ('instance_held', 'beside', false, 'a transaction has locked the row of an instance, so that its heartbeat waits; at the end of its lease, the instance stops its jobs',
      'Process {pid} of the server ({who}) has locked the row of instance {instance} ({name}){since}: its heartbeat waits for that, and when its lease ends it stops what it runs.', 'psql "$DATABASE_URL" -c "select pg_terminate_backend({pid})"'),
    ('ran_on', 'beside', false, 'attempt, host, child, when it ended, how long it took',
      'Attempt {attempt} of {most}, on {host}{child}, ended {to}, after {for}.', 'bellhop show {id}'),
    ('lost', 'beside', false, 'a run of the job was lost with its host or instance, and the job was given back; this does not count as an attempt',
      'Lost: {reason}, given back. That run was on {host}{child}, ended {to}{for}, and counts as no attempt.{more}', 'bellhop trace {id}'),
    ('last_words', 'beside', false, 'the last lines of stderr, `ERROR` and the scheduler''s notes; for operators',
      e'Last output:\n    {words}', 'bellhop logs -e {id}')
  ) as c (cause, of, stuck, means, sentence, next)
$$;

-- fill: a template with each {word} replaced by its value in args, or by nothing if args has none. Replaced text is not
-- searched for words again.
-- Grant: submitter reader scheduler
create or replace function bellhop.fill(template text, args jsonb) returns text
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select string_agg(m[1] || coalesce(args ->> m[2], ''), '' order by n)
    from regexp_matches(template, e'([^{]*)(?:\\{([a-z_]+)\\})?', 'g') with ordinality x (m, n)
$$;

-- reason: a cause in words. An unknown one is a fault of bellhop; its code is shown rather than nothing.
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

-- clock: a date and a time of day in UTC, as commands and pages write them.
-- Grant: submitter reader operator scheduler
create or replace function bellhop.clock(at timestamptz) returns text
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select case when isfinite(at) then to_char(at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"') else at::text end
$$;

-- lasting: a time span in whole seconds and its two biggest units, as commands and pages write it: "4 s", "12 min 03 s".
-- Grant: submitter reader operator scheduler
create or replace function bellhop.lasting(span interval) returns text
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select case when s < 60 then s || ' s'
              when s < 3600 then s / 60 || ' min ' || lpad((s % 60)::text, 2, '0') || ' s'
              when s < 86400 then s / 3600 || ' h ' || lpad((s / 60 % 60)::text, 2, '0') || ' min'
              else s / 86400 || ' d ' || s / 3600 % 24 || ' h' end
    from (select greatest(floor(extract(epoch from span)), 0)::bigint as s) x
$$;

-- took: a measured time span: below a minute three digits, and above as lasting.
-- Grant: submitter reader operator scheduler
create or replace function bellhop.took(span interval) returns text
language sql immutable parallel safe
set search_path = pg_catalog, bellhop, pg_temp
as $$
  select case when s <= 0 then '0 s'
              when s < 0.001 then '<1 ms'
              when s < 0.9995 then trim_scale(round(s * 1000, greatest(2 - floor(log(s * 1000))::integer, 0))) || ' ms'
              when s < 59.95 then trim_scale(round(s, greatest(2 - floor(log(s))::integer, 0))) || ' s'
              else bellhop.lasting(span + interval '500 ms') end
    from (select extract(epoch from span)::numeric as s) x
$$;

-- ago: how long ago something was, and when, as text for a sentence.
-- Grant: submitter reader operator scheduler
create or replace function bellhop.ago(at timestamptz) returns text
language sql stable parallel safe
set search_path = pg_catalog, bellhop, pg_temp
as $$
  select bellhop.lasting(clock_timestamp() - at) || ' ago (' || bellhop.clock(at) || ')'
$$;

-- since: how long ago something was, as text for a sentence; nothing for NULL.
-- Grant: submitter reader scheduler
create or replace function bellhop.since(at timestamptz) returns text
language sql stable parallel safe
set search_path = pg_catalog, bellhop, pg_temp
as $$
  select ' since ' || bellhop.clock(at) || ' (' || bellhop.lasting(clock_timestamp() - at) || ')'
$$;
