-- The policy of the newest live instance that publishes one. Guard: none, it only reads. Index: instance_live.
select i.policy::text as policy from bellhop.instance i where i.state = 'live' and i.policy is not null order by i.id desc limit 1
