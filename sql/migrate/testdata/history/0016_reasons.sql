-- What an agent said is for operators; why an attempt ended is for all who may see the queue.

-- The part of error that was not written by an agent; NULL: all of it.
alter table bellhop.jobqueue add column reason text;
alter table bellhop.attempt_past add column reason text;
comment on column bellhop.jobqueue.reason is 'the part of error that no agent wrote; NULL: all of it';

-- The last words of agents that do not come up, by host; bellhop.agent.trouble has the reasons.
create table bellhop.agent_words (
  instance bigint not null references bellhop.instance on delete cascade,
  type     text   not null,
  words    jsonb  not null default '{}',
  primary key (instance, type)
);
revoke all on bellhop.agent_words from public;

do $$
begin
  if exists (select from pg_roles where rolname = 'bellhop_operator') then
    grant select on bellhop.agent_words to bellhop_operator;
    grant select, insert, update, delete on bellhop.agent_words to bellhop_scheduler;
  end if;
end
$$;
