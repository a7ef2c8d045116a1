-- This checks a row of bellhop.attachment as bellhop.attach would. attach runs with the rights of its caller and makes
-- a function and triggers for it, so operators need INSERT here. Without this trigger a login could insert a row for a
-- table on which it has no rights, and so keep the table's owner from attaching it.
-- Grant: none
create or replace function bellhop.attachment_came() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  missing text;
begin
  select string_agg(p, ' and ') into missing from unnest(array['SELECT', 'UPDATE', 'TRIGGER']) p
   where not coalesce(has_table_privilege(current_user, new.rel::oid, p), false);
  if missing is not null then
    raise insufficient_privilege using message = format('permission denied: %s lacks %s on table %s', current_user, missing, new.rel),
      hint = format('Attach it as its owner, or: grant select, update, trigger on %s to %I.', new.rel, current_user);
  end if;
  if octet_length(new.name) > 500 then
    raise check_violation using message = format('the name of an attachment has %s bytes, and may have 500', octet_length(new.name)),
      constraint = 'attachment_name_short', table = 'attachment', hint = 'Name it: bellhop attach … --name NAME';
  end if;
  return new;
end
$$;

create or replace trigger _100_attachment_came
  before insert on bellhop.attachment
  for each row execute function bellhop.attachment_came();
