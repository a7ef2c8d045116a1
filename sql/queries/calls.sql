-- Queries that only call a function, each behind a line with its name. Functions name their locks and indexes, too.

-- name: due
-- The jobs that the clock has made ready, how many, and how long until the next, in ms. Index: jobqueue_parked.
select n, next_ms from bellhop.make_due()

-- name: era
-- The present era (bellhop.era): its floor, and its server and timeline. Index: era_now's primary key.
select e.floor, e.server from bellhop.era() e

-- name: expire
-- Jobs that have not begun by their not_after, at most $1; how long until the next, in ms. Index: deadline_at, then the primary key.
select expired, next_ms from bellhop.expire($1)

-- name: expire_leases
-- Ends the runs of workers that have not renewed their leases. Index: jobqueue_taken.
select bellhop.expire_leases($1)

-- name: look_ago
-- The time that is $1 ms ago by the database's clock, by which all ends are dated. Index: none.
select clock_timestamp() - $1::bigint * interval '1 ms' as at

-- name: look_submit
-- Adds a job; the arguments of bellhop.submit by name. Index: those of jobqueue.
select bellhop.submit({arguments})

-- name: locks_ages
-- Reserves for the jobs with locks that have waited for $1 ms by now. It returns how many there were, and in how many ms
-- the next one has waited for so long (infinity: none).
-- Guard: the limit of reserved jobs, and their primary key. Index: jobqueue_locked, one probe for each lock behind which
-- jobs wait, and for each type and priority there.
select u.reserved, coalesce(u.next_in, 'infinity') from bellhop.locks_round($1) u

-- name: locks_reject
-- Cancels the jobs $1, each since the rule $2 rejects it. Guard: bellhop.filter_reject: the job waits. Index: the
-- primary key.
select bellhop.filter_reject(r.job, r.rule) from unnest($1::bigint[], $2::text[]) as r (job, rule)

-- name: look_below
-- What becomes of the jobs that need these ($1), directly or through others, if these are cancelled: at most $2 of
-- them. Guard: bellhop.below, which shows readers all and submitters their own. Indexes: those of bellhop.below.
select * from bellhop.below($1::bigint[], $2::integer)

-- name: look_beside
-- Jobs without locks, as far as a forecast considers them: the running ones, and the first $1 that wait. Guard: none,
-- it only reads; readers only. Indexes: those of bellhop.lock_beside.
select * from bellhop.lock_beside($1)

-- name: look_dependencies
-- The dependencies among jobs. $1 ids. Guard: bellhop.edges, which shows readers all and submitters their own. Indexes: its own.
select e.job, e.needs, e.wanted, e.met from bellhop.edges($1::bigint[]) e order by e.job, e.needs

-- name: look_detach
-- Detaches a table; $1 its name, or the attachment's. Index: attachment_name_key.
select bellhop.detach($1)

-- name: look_emit
-- Tells jobs that await event $1, with payload $2; returns whether it is the first of its name. Index: emitted_pkey.
select bellhop.emit($1::text, $2::jsonb)

-- name: look_event
-- Records an event that starts a workflow: $1 its name, $2 the event, $3 parameters. Returns whether it is new; NULL:
-- there is no such workflow, or it is not active. Guard: an event's name is unique. Index: event's primary key.
select bellhop.workflow_event($1::text, $2::text, $3::jsonb)

-- name: look_event_header
-- The header that names the event in a request for workflow $1; NULL: no request starts it. Index: workflow's primary
-- key.
select bellhop.event_header($1::text)

-- name: look_explain
-- Why a job does not run, or how it ended. $1 id. Indexes: the primary key; those of what holds it.
select e.code, e.sentence, e.next from bellhop.explanation($1) with ordinality e (code, sentence, next, n) order by e.n

-- name: look_explain_row
-- Why a row of an attached table ($1) with this key ($2) does not run. Index: attachment_name_key; attached's primary key.
select code, sentence, next from bellhop.explain_row($1, $2)

-- name: look_explain_workflow
-- What starts workflow $1, and what keeps it from being started. Guard: readers only. Index: the primary keys of workflow and sensor; run_of.
select code, sentence, next from bellhop.explain_workflow($1)

-- name: look_filter_add
-- Adds a filter: $1 action, $2 predicates, $3 priority, $4 reason. Guard: operators only. Index: bellhop.filter_look reads what is not over.
select bellhop.filter_add($1::text, $2::text::jsonb, $3::integer, $4::text)

-- name: look_filter_delete
-- Deletes the filter $1. Guard: operators only. Index: the primary key.
select bellhop.filter_delete($1::text)

-- name: look_filter_replace
-- Replaces the filter $1, or adds it: $2 action, $3 predicates, $4 priority, $5 reason. Guard: operators only. Index: the primary key; and
-- bellhop.filter_look reads what is not over.
select bellhop.filter_replace($1::text, $2::text, $3::text::jsonb, $4::integer, $5::text)

-- name: look_graph
-- The jobs that dependencies connect with one job, in either direction. $1 id, $2 how many at most. Guard:
-- bellhop.graph, which shows readers all and submitters their own. Indexes: its own.
select * from bellhop.graph($1::bigint, $2::bigint)

-- name: look_kick
select bellhop.kick() is null

-- name: look_lock_heads
-- The first $1 locks that are held or waited for. Guard: none, it only reads; readers only. Indexes: those of bellhop.lock_heads.
select h.level, h.name, coalesce(h.mode, '') as mode, h.holders, coalesce(h.job, 0) as job, h.held, h.waiting, h.oldest from bellhop.lock_heads($1) h

-- name: look_changes
-- Changes, the newest first: $1 before an id (NULL: the newest), $2 how many. Guard: none, it only reads. Index: the
-- primary key, backwards.
select id, at, by, via, role, verb, thing, name, result from bellhop.change
 where id < coalesce($1::bigint, 9223372036854775807) order by id desc limit $2::bigint

-- name: look_changes_by
-- The same by one caller: $3. Index: change_by, backwards.
select id, at, by, via, role, verb, thing, name, result from bellhop.change
 where by = $3::text and id < coalesce($1::bigint, 9223372036854775807) order by id desc limit $2::bigint

-- name: look_changes_of
-- The same of one thing: $3 its kind, $4 its name, $5 by a caller (NULL: all). Index: change_of, backwards.
select id, at, by, via, role, verb, thing, name, result from bellhop.change
 where thing = $3::text and name = $4::text and id < coalesce($1::bigint, 9223372036854775807) and ($5::text is null or by = $5::text)
 order by id desc limit $2::bigint

-- name: look_manager_change
-- Stops or starts the sensors of instances: $1 stop or start, $2 a name ('': all). Guard: operators only. Index: the primary key.
select bellhop.manager($1::text, $2::text)

-- name: look_notice_add
-- Adds a rule for messages about runs: $1 project, $2 prefix, $3 statuses, $4 mail, $5 webhook, $6 command, $7 ms since
-- the last success, $8 whether it is active. Guard: operators only.
select bellhop.notice_rule_add($1, $2, $3::text[], $4::text[], $5::text, $6::text[], $7::bigint * interval '1 ms', $8)

-- name: look_notice_again
-- Sends message $1 again, at once; returns its status before; NULL: there is none. Guard: operators only; not a message
-- that was sent. Index: the primary key.
select bellhop.notice_again($1)

-- name: look_notice_change
-- Replaces rule $1 for messages about runs: $2 project, $3 prefix, $4 statuses, $5 mail, $6 webhook, $7 command, $8 ms
-- since the last success, $9 whether it is active (NULL: as it was), $10 the version it must have (NULL: any). Guard:
-- operators only. Index: the primary key.
select bellhop.notice_rule_change($1, $2, $3, $4::text[], $5::text[], $6::text, $7::text[], $8::bigint * interval '1 ms', $9, $10::int)

-- name: look_notice_delete
-- Deletes rule $1 for messages about runs; returns whether there was one. Guard: operators only. Index: the primary
-- key.
select bellhop.notice_rule_delete($1)

-- name: look_notice_test
-- Each receiver of rule $1 gets a message that says it is a test; NULL: there is no such rule. Guard: operators only.
-- Index: the primary key.
select bellhop.notice_rule_test($1)

-- name: look_pause
-- $1 type, NULL for all of them. Index: the primary key of bellhop.paused.
select bellhop.pause($1::text) is null

-- name: look_posted
-- A request starts a workflow: $1 its name, $2 the event (NULL: each time a new one), $3 the request's body. Returns
-- whether the event is new; NULL: there is no such workflow, or it is not active. Guard: an event's name is unique.
-- Index: event's primary key.
select bellhop.workflow_http($1::text, $2::text, $3::jsonb)

-- name: look_retry_behind
-- Retries a job and the jobs behind it: $1 id. Guard: operators only, under locks on all of them. Indexes: the primary
-- key; dependency_needs.
select bellhop.retry_behind($1::bigint)

-- name: look_rjm_setup
-- $1 id, $2 config, $3 priority, $4 blocks, $5 files, $6 the job inside which this is done, or NULL, $7 locks, or NULL.
select bellhop.rjm_setup($1, $2, $3, $4::text[], $5::text[], $6, $7::text[])

-- name: look_scene
-- The basis of a forecast: the holders of locks, and some $1 of the jobs that wait, job $2 among them. Guard: none, it
-- only reads; readers only. Indexes: those of bellhop.lock_scene; the primary key, a probe for each job.
select s.*, coalesce(q.share, '') as share
  from bellhop.lock_scene($1, $2) s
  left join lateral (select j.share from bellhop.every_job j where j.id = s.job offset 0) q on true

-- name: look_share_beside
-- Jobs with a share and without locks that wait, as far as a forecast considers them: about $1. Guard: none, it only
-- reads; readers only. Indexes: those of bellhop.share_beside.
select * from bellhop.share_beside($1)

-- name: look_share_of
-- The share that its type's template gives a job: $1 type, $2 args, $3 key, $4 vars; empty: none. Index:
-- share_template's primary key.
select coalesce(bellhop.template_share($1::text, $2::text, $3::text, $4::jsonb), '')

-- name: look_standing
-- The keys of shares as they stand in their lines, at most $1. Guard: none, it only reads; readers only. Indexes: those of
-- bellhop.share_standing.
select * from bellhop.share_standing($1)

-- name: look_share_set
-- Sets the weight ($3) of a key ($2) among those of a type ($1). Guard: operators only. Index: the primary key of share.
select bellhop.share_set($1, $2, $3::real) is null

-- name: look_sign_in
-- A link that opens the pages once, with the rights of this login; $1 the digest of its secret. Index: the primary key of sign_in.
select bellhop.sign_in($1::bytea)

-- name: look_that_start
-- The types of which jobs may start. Guard: none, it only reads. Indexes: those of bellhop.types_that_start.
select s.type from bellhop.types_that_start() s

-- name: look_unserved
-- The types of a definition's steps, $1, for which no running instance has an agent. Guard: callers that may apply it.
-- Index: none, instances are few.
select code, sentence, next from bellhop.unserved($1::text::jsonb)

-- name: look_version_of
-- A text that changes whenever job $1 changes in something that an edit changes; NULL: the caller may not change it.
-- Guard: none, it only reads.
-- Index: the primary key.
select bellhop.edit_version($1::bigint)

-- name: look_workflow_apply
-- Creates or changes a workflow: $1 definition, $2 the version that it has (NULL: whichever). Guard: operators only, and the version. Index: the primary key.
select bellhop.workflow_apply($1::text::jsonb, $2::integer)

-- name: look_workflow_change
-- Activates, deactivates or deletes a workflow: $1 name, $2 the new state, $3 the version it has (NULL: whichever).
-- Guard: operators only. Index: the primary key.
select bellhop.workflow_change($1::text, $2::text, $3::integer)

-- name: look_workflow_retry
-- Lets a failed run go on: $1. Guard: operators only, and its state. Index: the primary key.
select bellhop.workflow_retry($1::bigint)

-- name: look_workflow_run
-- A run by hand: $1 workflow, $2 parameters, $3 steps (NULL: all), $4 an event that was skipped (NULL: none). Guard: operators only. Index: the primary key.
select bellhop.workflow_run($1::text, $2::text::jsonb, $3::text[], $4::text)

-- name: notices_next
-- In how many ms instance $1 has a message to send that is not among $2, which it has under way, and not for receivers
-- $3, which have no room; NULL: none. Index: notice_receiver; notice_until.
select bellhop.notices_next($1, $2::bigint[], $3::text[])

-- name: operation_plan
-- Plans an order for many jobs: $1 verb, $2 filter, $3 priority. Guard: operators only. Index: the primary key is walked once.
select bellhop.operation_plan($1::text, $2::text::jsonb, $3::integer)

-- name: operation_start
-- Starts, or goes on with, operation $1. Guard: operators only, and its state. Index: operation's primary key.
select bellhop.operation_start($1::bigint)

-- name: operation_step
-- The next batch of operation $1, of $2 jobs. Guard: operators only; a lock on its row. Index: operation_part's primary key, from where it was, and jobqueue's.
select bellhop.operation_step($1::bigint, $2::integer)

-- name: operation_stop
-- Stops operation $1. Guard: operators only, and its state. Index: operation's primary key.
select bellhop.operation_stop($1::bigint)

-- name: operation_undo
-- Undoes operation $1, except for jobs that have changed since. Guard: operators only, its state, and that of each job.
-- Index: operation_job's primary key, jobqueue's.
select bellhop.operation_undo($1::bigint)

-- name: rest
-- Runs that have ended by sleeping, or by awaiting an event. $1 instance, $2 ids, $3 fences, $4 for how long at most, in
-- ms (0: until the event comes), $5 the events (NULL: the job sleeps), $6 whether it keeps its locks,
-- $7 the children that it makes, as JSON (NULL: none).
-- Guard: still ours under these fences. Index: the primary keys.
select r from bellhop.rest_runs($1, $2, $3, $4, $5, $6, $7) r

-- name: retain_jobs
-- Deletes those of the next $2 jobs behind id $1 that are old enough: $3 types ('': all others), $4 states, $5 ages in
-- ms (NULL: for ever), $6 the age for jobs with a key (NULL: never), $7 the table that gets them first. Guard: they are
-- over, and no job needs them. Index: the queue's primary key.
select r.deleted, r.last from bellhop.retain_jobs($1, $2, $3::text[], $4::text[], $5::bigint[], $6::bigint, $7) r

-- name: retain_runs
-- Deletes runs that were over for long enough, with their jobs: $1 how they ended, $2 for how many ms they are kept then (NULL: for ever), $3 jobs at the most;
-- $4 the table that gets those first. Guard: they are over. Index: run_ended_as.
select bellhop.retain_runs($1::text[], $2::bigint[], $3, $4)

-- name: retention_begin
-- Whether instance $1 is to delete what was over long ago: the last pass began $2 ms ago, and no instance is at it.
-- Guard: one instance. Index: the primary key.
select bellhop.retention_begin($1, $2 * interval '1 ms')

-- name: retention_goes_on
-- Whether instance $1 is still the one that deletes; $2 more is deleted; $3: that was all. Guard: it is that instance. Index: the primary key.
select bellhop.retention_goes_on($1, $2, $3)

-- name: save_step
-- Keeps what a run has done: $1 job, $2 fence, $3 the name of the step, $4 its output, JSON (NULL: null). It waits only
-- 100 ms for a job that another transaction has locked: other steps need the session.
-- Guard: bellhop.own_run. Index: the primary keys.
select bellhop.save_step($1, $2, $3, $4::jsonb) from (select set_config('lock_timeout', '100ms', true) offset 0) t

-- name: save_steps
-- Keeps what several runs have done. It gives the places of the steps that are kept, from 1, with the number of steps
-- that the job has then, and the bytes of their outputs. $1 jobs, $2 fences, $3 names of steps, $4 outputs, $5 how many
-- steps each job has, $6 how many bytes (NULL: count them). Guard: the fence; a run that was replaced, a step that is
-- refused, and a job that another transaction has locked are passed over, so that no run fails or waits because of
-- another. Index: the primary keys.
with free as materialized (
  select array_agg(u.job) as jobs, array_agg(u.name) as names, array_agg(u.output) as outputs, array_agg(u.n::integer) as n,
         array_agg(u.had) as had, array_agg(u.size) as sizes
    from unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::int[], $6::bigint[]) with ordinality as u (job, fence, name, output, had, size, n)
   cross join lateral (select from bellhop.jobqueue q
                        where q.id = u.job and q.fence = u.fence and q.state in ('running', 'assigned') and q.msq is null
                          for no key update skip locked) l
)
select f.n[k.place], k.has, k.size from free f, bellhop.keep_counted_steps(f.jobs, f.names, f.outputs::jsonb[], f.had, f.sizes) k

-- name: sensors_begin
-- Whether this instance, $1, starts workflows, and whether some have to be given to others first. Index:
-- workflow_instance.
select bellhop.starts_workflows($1), bellhop.unassigned()

-- name: sensors_events
-- Makes runs of events that have none: $1 at most, $2 as in sensors_fire. Guard: each event once. Index: event_open.
select bellhop.take_events($1, $2)

-- name: sensors_fire
-- Makes runs of a workflow's slots: $1 workflow, $2 events, $3 slots, $4 whether they are made up for, $5 the next
-- slot, $6 whether a run that cannot be made is recorded as failed, $7 the first slot that is held until $5. Guard:
-- each event once. Index: event's primary key.
select bellhop.fire($1, $2::text[], $3::timestamptz[], $4::boolean[], $5::timestamptz, $6, $7::timestamptz)

-- name: sensors_next
-- In how many ms instance $1 has to look at sensors; NULL: never. Index: workflow_instance; event_open; sensor_next;
-- run_open.
select bellhop.sensors_next($1)

-- name: sensors_wait
-- Looks at sensors that wait for the end of a run when no run is open. Guard: only such sensors. Index: run_open.
select bellhop.sensors_begin()

-- name: server_floor
-- The fence below which claims were made before the database was on this server. Index: era_now's and server_seen's
-- primary keys.
select e.server_floor from bellhop.era() e

-- name: turn_failed
-- Records why an attachment ($1) does not run ($2); $3: the fault is this instance's login. Guard: only a change is
-- written. Index: the primary key.
select bellhop.turn_failed($1, $2, $3)

-- name: watches_events
-- Events of workflow $2 that instance $1 has seen: $3 names, $4 the values of each; $5 where the sensor stands, $6 a
-- remark about it (NULL: as it was). NULL: the workflow is not the instance's own. Guard: the instance has the
-- workflow, and is live; each event once. Index: the primary keys.
select bellhop.sensor_events($1, $2, $3::text[], $4::jsonb[], $5::text::jsonb, $6::text)

-- name: watches_failing
-- Why a sensor, $2, of instance $1 sees nothing: $3; NULL: it sees again. Guard: the instance has it. Index: the
-- primary keys.
select bellhop.sensor_failing($1, $2, $3)

-- name: watches_lag
-- How many messages a sensor, $2, of instance $1 has not read yet: $3. Guard: the instance has it. Index: the primary keys.
select bellhop.sensor_lag($1, $2, $3)

-- name: web_admit
-- Makes a session ($1) of an attempt ($2) for a person ($3) under a role ($4), for $5 seconds; session and attempt are
-- digests. Guard: the attempt has made none. Index: the primary key of sign_in; sign_in_attempt_key; sign_in_login.
select bellhop.admitted($1::bytea, $2::bytea, $3::text, $4::text, $5::integer)

-- name: web_enter
-- Makes a session ($2) of a link ($1); both are digests. Guard: the link is there, and goes with it. Index: the primary key of sign_in.
select login, role from bellhop.signed_in($1::bytea, $2::bytea)

-- name: web_reader
-- Whether the caller may see the jobs of others. Reads catalogs only.
select bellhop.is_reader()

-- name: web_session
-- The login or the person of a session; $1 its digest. Index: the primary key of sign_in.
select s.login as name, coalesce(s.role, '') as role, false as person from bellhop.session_of($1::bytea) s
 union all
select p.person, p.role, true from bellhop.person_of($1::bytea) p

-- name: promises_settle
-- Decides the open promises whose jobs have ended or are late, and gives them. Index: those of bellhop.promises_settle.
select s.job, s.by, s.what, coalesce(s.why, '') as why from bellhop.promises_settle() s

-- name: promise_danger
-- Records that a forecast passes the promise of a job, or keeps it again; whether that is news. Index: promise's primary key.
select bellhop.promise_danger($1, $2, $3)

-- name: locks_turns_taken
-- Moves the keys of the jobs that a pass has started. $1 types, $2 priorities, $3 keys, $4 how many starts, $5 whether other
-- jobs of that type and priority wait. Guard: share_clock's rows, locked. Indexes: those of the function.
select bellhop.lock_turns_taken($1::text[], $2::smallint[], $3::text[], $4::integer[], $5::boolean[])

-- name: wake_sealed
-- The jobs that wait for one of the keys $1 are due. Index: jobqueue_parked.
select bellhop.wake_sealed($1)
