-- The active rules for messages about runs, without those in definitions. All of them are read: they are few.
select r.project, r.prefix, r.statuses, coalesce(extract(epoch from r.unless_success_within) * 1000, 0)::bigint, r.mail, coalesce(r.webhook, ''), r.command
  from bellhop.notice_rule r where r.active order by r.id
