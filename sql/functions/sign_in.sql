-- sign_in: a link that opens the pages once, with the caller's rights. Only the digest (SHA-256) of its secret is kept.
-- A login has one link, for two minutes; sessions older than a day are deleted as well.
-- Grant: submitter reader operator scheduler
create or replace function bellhop.sign_in(digest bytea) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
begin
  if octet_length(sign_in.digest) is distinct from 32 then
    raise check_violation using message = 'a digest has 32 bytes', hint = 'bellhop ui';
  end if;
  delete from bellhop.sign_in s where s.until < clock_timestamp() or s.link and s.login = bellhop.caller();
  insert into bellhop.sign_in (digest, link, login, until)
  values (sign_in.digest, true, bellhop.caller(), clock_timestamp() + interval '2 min')
  on conflict do nothing;
end
$$;

-- role_for: the role under which this session answers a login's requests: the login's own, if this session may take
-- that and it is not a superuser; else operator's or reader's, if the login is one. NULL: none.
-- Grant: scheduler
create or replace function bellhop.role_for(login text) returns text
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select case
    when not r.rolsuper and r.rolname <> bellhop.caller() and pg_has_role(bellhop.caller(), r.oid, 'member')
         and exists (select from pg_roles m where m.rolname in ('bellhop_submitter', 'bellhop_reader', 'bellhop_operator') and pg_has_role(r.oid, m.oid, 'member')) then r.rolname::text
    when pg_has_role(r.oid, (select c.relowner from pg_class c where c.oid = 'bellhop.jobqueue'::regclass), 'member') then 'bellhop_operator'
    else (select m.rolname::text from pg_roles m where m.rolname in ('bellhop_operator', 'bellhop_reader') and pg_has_role(r.oid, m.oid, 'member') order by m.rolname limit 1)
  end
  from pg_roles r where r.rolname = role_for.login
$$;

-- signed_in: makes a session of a link, once.
-- Grant: scheduler
create or replace function bellhop.signed_in(link bytea, session bytea) returns table (login text, role text)
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  with used as (
    delete from bellhop.sign_in s where s.digest = signed_in.link and s.link and s.until >= clock_timestamp() returning s.login
  ), kept as (
    insert into bellhop.sign_in (digest, link, login, until)
    select signed_in.session, false, u.login, clock_timestamp() + interval '12 hours' from used u
  ), old as ( -- the newest twenty of a login stay
    delete from bellhop.sign_in s
     where s.digest in (select x.digest from bellhop.sign_in x join used u on u.login = x.login where not x.link and x.role is null order by x.until desc offset 20)
  )
  select u.login, bellhop.role_for(u.login) from used u
$$;

-- session_of: the login of a session, and its role as things are now.
-- Grant: scheduler
create or replace function bellhop.session_of(session bytea) returns table (login text, role text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select s.login, bellhop.role_for(s.login) from bellhop.sign_in s
   where s.digest = session_of.session and not s.link and s.role is null and s.until >= clock_timestamp()
$$;

-- admitted: makes a session for a person that the provider has identified, for so many seconds. Returns false if this
-- attempt (a digest of its state) has made a session before. A person has twenty sessions at most, the newest ones.
-- Grant: scheduler
create or replace function bellhop.admitted(session bytea, attempt bytea, person text, role text, seconds integer) returns boolean
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  with old as (
    delete from bellhop.sign_in s
     where s.until < clock_timestamp()
        or s.digest in (select x.digest from bellhop.sign_in x where x.login = admitted.person and not x.link and x.role is not null order by x.until desc offset 19)
  ), made as (
    insert into bellhop.sign_in (digest, link, login, role, attempt, until)
    values (admitted.session, false, admitted.person, admitted.role, admitted.attempt, clock_timestamp() + admitted.seconds * interval '1 s')
    on conflict do nothing returning 1
  )
  select exists (select from made)
$$;

-- person_of: the person of a session, and the role that the person's groups had when it began.
-- Grant: scheduler
create or replace function bellhop.person_of(session bytea) returns table (person text, role text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select s.login, s.role from bellhop.sign_in s
   where s.digest = person_of.session and not s.link and s.role is not null and s.until >= clock_timestamp()
$$;
