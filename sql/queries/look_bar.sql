-- What keeps each new job of type $1, for $2 and of priority $3, from starting until an operator or a repair lets it; no row: nothing. Guard:
-- bellhop.hindrance, for readers. Index: those of bellhop.hindrance.
select x.code, x.sentence, x.next
  from bellhop.hindrance($1::text, $2::text, $3::integer, null, $4::boolean) h
 cross join lateral bellhop.hindered(h.cause, h.args, '') x
 where split_part(h.cause, '/', 1) in ('no_instance', 'paused', 'unknown_type', 'no_worker', 'no_host', 'instance_stopping', 'host_down', 'agent_fails')
