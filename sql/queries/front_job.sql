-- One job in whatever state, for FOSSology's `status`. $1 id. Index: the primary key.
select j.id, j.state, j.type, j.priority::integer, case when j.state in ('assigned', 'running') then coalesce(j.host, '') else '' end as host
  from bellhop.jobqueue j where j.id = $1 and j.type <> 'command'
