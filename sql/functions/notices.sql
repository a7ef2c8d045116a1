-- Notices: messages about how runs of workflows have ended. The code that ends a run records it (bellhop.run_end) if
-- there are any rules. An instance works out the receivers and the messages beside that (scheduler/notice), and sends
-- them.

-- end_told: a run has ended in this state, or was skipped: a receiver may want to know. Nothing in it can fail,
-- whatever a definition holds: the same statement writes outcomes. Index: workflow's primary key.
-- Grant: scheduler
create or replace function bellhop.end_told(run bigint, called text, state text, reason text) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
begin
  if exists (select from bellhop.notice_rule r where r.active and end_told.state = any (r.statuses))
     or exists (select from bellhop.workflow w where w.name = called and w.notifies
                   and (end_told.state <> 'skipped' or w.definition -> 'notify' @? '$[*].when[*] ? (@ == "skipped")')) then
    insert into bellhop.run_end (run, workflow, state, reason) values (end_told.run, called, end_told.state, end_told.reason);
    perform pg_notify('bellhop_due', '');
  end if;
end
$$;

-- notice_free: whether an instance may take a message: it has no holder, its holder is gone, or it is this instance's
-- own.
-- Grant: scheduler
create or replace function bellhop.notice_free(holder bigint, me bigint) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select holder is null or holder = me or not exists (select from bellhop.instance i where i.id = holder and i.state = 'live')
$$;

-- tells_of: whether an instance that can send this list can send a message that needs this. An instance that obeys any
-- command of the database knows each name.
-- Grant: reader operator scheduler
create or replace function bellhop.tells_of(tells text[], needs text) returns boolean
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select needs = any (tells) or starts_with(needs, 'command:') and 'command:*' = any (tells)
$$;

-- notices_next: in how many ms this instance has a message to send, or to give up; NULL: none. Messages that it has
-- taken do not count, unless they are not among those under way; nor do receivers that have no room. Index:
-- notice_receiver, one receiver after the other; notice_until.
-- Grant: scheduler
create or replace function bellhop.notices_next(me bigint, under bigint[] default null, no_room text[] default '{}') returns bigint
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
begin
  if exists (select from bellhop.run_end) then
    return 0;
  elsif not exists (select from bellhop.notice n where n.status = 'waiting') then
    return null;
  end if;
  return (with recursive receiver (name) as (
            (select n.receiver from bellhop.notice n where n.status = 'waiting' order by n.receiver limit 1)
            union all
            select (select n.receiver from bellhop.notice n where n.status = 'waiting' and n.receiver > r.name order by n.receiver limit 1)
              from receiver r where r.name is not null)
          select greatest(0, ceil(extract(epoch from least(
            (select min(due.next_at) from receiver r
              cross join lateral (
                select n.next_at from bellhop.notice n
                 where n.status = 'waiting' and n.receiver = r.name and bellhop.tells_of(i.tells, n.needs)
                   and bellhop.notice_free(n.instance, me) and (n.instance is distinct from me or n.id <> all (under))
                 order by n.next_at limit 1) due
              where r.name <> all (no_room)),
            (select n.until from bellhop.notice n
              where n.status = 'waiting' and bellhop.notice_free(n.instance, me) and (n.instance is distinct from me or n.id <> all (under))
              order by n.until limit 1)) - clock_timestamp()) * 1000))
            from bellhop.instance i where i.id = me and i.state = 'live')::bigint;
end
$$;

-- notice_rule_refused: refuses a rule that names no end of a run, or no receiver.
-- Grant: none
create or replace function bellhop.notice_rule_refused(statuses text[], mail text[], webhook text, command text[]) returns void
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  if not coalesce(statuses <@ '{succeeded,failed,skipped}' and statuses <> '{}', false) then
    raise invalid_parameter_value using message = format('no run ends as %s', array_to_string(statuses, ', ', 'NULL')), hint = 'succeeded, failed or skipped';
  elsif coalesce(mail, '{}') = '{}' and coalesce(webhook, '') = '' and coalesce(command, '{}') = '{}' then
    raise invalid_parameter_value using message = 'the rule names no recipient', hint = 'give mail, webhook or command';
  end if;
end
$$;

-- notice_rule_add: a rule for the runs of a project, or of workflows whose names begin with a prefix, or of all.
-- Returns its id.
-- Grant: operator scheduler
create or replace function bellhop.notice_rule_add(project text default '', prefix text default '', statuses text[] default '{failed}',
                                                   mail text[] default '{}', webhook text default null, command text[] default '{}',
                                                   unless_success_within interval default null, active boolean default true) returns bigint
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
declare
  made bigint;
begin
  perform bellhop.refuse_but_operators('change notification rules');
  perform bellhop.notice_rule_refused(statuses, mail, webhook, command);
  insert into bellhop.notice_rule (project, prefix, statuses, mail, webhook, command, unless_success_within, active, changed_by)
  values (coalesce(notice_rule_add.project, ''), coalesce(notice_rule_add.prefix, ''), notice_rule_add.statuses, coalesce(notice_rule_add.mail, '{}'),
          nullif(notice_rule_add.webhook, ''), coalesce(notice_rule_add.command, '{}'), notice_rule_add.unless_success_within,
          coalesce(notice_rule_add.active, true), bellhop.actor())
  returning notice_rule.id into made;
  perform bellhop.changed('rule', 'rule', made::text, array_to_string(notice_rule_add.statuses, ', '));
  return made;
end
$$;

-- notice_rule_change: replaces all of a rule; active stays as it was if the call leaves it out. With a version: only if
-- that is the present one. Returns whether there is such a rule.
-- Grant: operator scheduler
create or replace function bellhop.notice_rule_change(id bigint, project text default '', prefix text default '', statuses text[] default '{failed}',
                                                      mail text[] default '{}', webhook text default null, command text[] default '{}',
                                                      unless_success_within interval default null,
                                                      active boolean default null, version integer default null) returns boolean
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
declare
  o bellhop.notice_rule;
begin
  perform bellhop.refuse_but_operators('change notification rules');
  perform bellhop.notice_rule_refused(statuses, mail, webhook, command);
  select * into o from bellhop.notice_rule r where r.id = notice_rule_change.id for update;
  if notice_rule_change.version <> o.version then
    raise object_not_in_prerequisite_state using
      message = format('rule %s has version %s, not %s: %s changed it at %s', o.id, o.version, notice_rule_change.version,
                       o.changed_by, bellhop.clock(o.changed_at)),
      hint = 'Look at what it is now: bellhop workflow notify ls';
  end if;
  update bellhop.notice_rule r
     set project = coalesce(notice_rule_change.project, ''), prefix = coalesce(notice_rule_change.prefix, ''), statuses = notice_rule_change.statuses,
         mail = coalesce(notice_rule_change.mail, '{}'), webhook = nullif(notice_rule_change.webhook, ''),
         command = coalesce(notice_rule_change.command, '{}'), unless_success_within = notice_rule_change.unless_success_within,
         active = coalesce(notice_rule_change.active, r.active), version = r.version + 1,
         changed_at = clock_timestamp(), changed_by = bellhop.actor()
   where r.id = notice_rule_change.id;
  if o.id is null then
    return false;
  end if;
  perform bellhop.changed('rule edit', 'rule', o.id::text, format('version %s', o.version + 1));
  return true;
end
$$;

-- notice_rule_delete: returns whether there was such a rule. Messages that wait to be sent go out all the same.
-- Grant: operator scheduler
create or replace function bellhop.notice_rule_delete(id bigint) returns boolean
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
begin
  perform bellhop.refuse_but_operators('change notification rules');
  delete from bellhop.notice_rule r where r.id = notice_rule_delete.id;
  if not found then
    return false;
  end if;
  perform bellhop.changed('unrule', 'rule', notice_rule_delete.id::text, 'deleted');
  return true;
end
$$;

-- notice_rule_test: each receiver of a rule gets a message that says it is a test, of no run; it is tried for an hour.
-- Tests of a week ago are deleted. Returns the messages; NULL: there is no such rule.
-- Grant: operator scheduler
create or replace function bellhop.notice_rule_test(id bigint) returns bigint[]
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
declare
  made bigint[];
begin
  perform bellhop.refuse_but_operators('have messages sent');
  if not exists (select from bellhop.notice_rule r where r.id = notice_rule_test.id) then
    return null;
  end if;
  -- no run takes these along when it is deleted
  delete from bellhop.notice n where n.run = 0 and n.status <> 'waiting' and n.at < clock_timestamp() - interval '7 d';
  delete from bellhop.notice_gone g using bellhop.notice_rule r where r.id = notice_rule_test.id and g.target = r.webhook;
  with sent as (
    insert into bellhop.notice (run, workflow, project, state, reason, ended_at, channel, target, needs, until)
    select 0, format('test of rule %s', r.id), r.project, 'test', format('asked for by %s', bellhop.actor()), clock_timestamp(),
           l.channel, l.target, l.needs, clock_timestamp() + interval '1 h'
      from bellhop.notice_rule r
     cross join lateral (
       select 'mail' as channel, m as target, 'mail' as needs from unnest(r.mail) as m
       union select 'webhook', r.webhook, 'webhook' where r.webhook <> ''
       union select 'command', to_json(r.command)::text, case when cardinality(r.command) = 1 then 'command:' || r.command[1] else 'command:*' end
        where r.command <> '{}') l
     where r.id = notice_rule_test.id
    returning notice.id
  )
  select array_agg(s.id order by s.id) into made from sent s;
  perform bellhop.changed('ruletest', 'rule', notice_rule_test.id::text, format('%s messages', cardinality(made)));
  perform pg_notify('bellhop_due', '');
  return made;
end
$$;

-- notice_again: a message that was given up, or waits for its next try, is sent at once; one that was sent is not.
-- Returns its status before; NULL: there is no such message. A URL that was gone is posted to once more.
-- Grant: operator scheduler
create or replace function bellhop.notice_again(id bigint) returns text
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
declare
  was text;
begin
  perform bellhop.refuse_but_operators('send messages again');
  select n.status into was from bellhop.notice n where n.id = notice_again.id for update;
  if was in ('waiting', 'given_up') then
    update bellhop.notice n
       set status = 'waiting', next_at = clock_timestamp(), sent_at = null,
           until = greatest(n.until, clock_timestamp() + greatest(n.until - n.at, interval '1 h')), at = case when was = 'given_up' then clock_timestamp() else n.at end
     where n.id = notice_again.id;
    delete from bellhop.notice_gone g using bellhop.notice n where n.id = notice_again.id and n.channel = 'webhook' and g.target = n.target;
    perform bellhop.changed('again', 'message', notice_again.id::text, case was when 'waiting' then 'sent at once' else was || ' → waiting' end);
    perform pg_notify('bellhop_due', '');
  end if;
  return was;
end
$$;
