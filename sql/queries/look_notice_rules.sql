-- The rules for messages about runs, without those in definitions. All of them: they are few.
select r.id, r.project, r.prefix, r.statuses, (extract(epoch from r.unless_success_within) * 1000)::bigint as unless_success_within, r.mail, r.webhook, r.command,
       r.active, r.version, r.changed_at, r.changed_by
  from bellhop.notice_rule r order by r.id
