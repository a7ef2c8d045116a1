-- Which of the roles in $1 this session may not take, and whether there are such. Reads pg_roles only.
select w.role, r.oid is not null as exists
  from unnest($1::text[]) w (role)
  left join pg_roles r on r.rolname = w.role
 where r.oid is null or not pg_has_role(session_user, r.oid, 'member')
 order by w.role
