-- Templates of shares (agents[].share): jobs of a type that come without a share get one, by their vars. The trigger
-- _005_share_template asks for it.

-- template_share: the share that its type's template gives a job, at most 200 characters of it. NULL: the type has no
-- template, or the job lacks what that names; an empty value counts as none, and so does a sealed one. Index: the primary key.
-- Grant: reader scheduler
create or replace function bellhop.template_share(type text, args text, key text, vars jsonb) returns text
language plpgsql stable
set search_path = pg_catalog, bellhop, pg_temp
as $$
declare
  parts text[];
  part  text;
  value text;
  share text := '';
begin
  select t.parts into parts from bellhop.share_template t where t.type = template_share.type;
  foreach part in array coalesce(parts, '{}') loop
    value := case when part like '=%' then substr(part, 2) when part = 'args' then template_share.args when part = 'key' then template_share.key
                  else template_share.vars ->> substr(part, 6) end;
    if value is null or value = '' and part not like '=%' or value like 'bellhop:sealed:%' then
      return null;
    end if;
    share := share || value;
  end loop;
  return nullif(left(share, 200), '');
end
$$;

-- share_type_bit: the bit of bellhop.share_types that stands for a type. The trigger's WHEN says the same.
-- Grant: scheduler
create or replace function bellhop.share_type_bit(type text) returns bigint
language sql immutable
set search_path = pg_catalog, pg_temp
as 'select 1::bigint << (hashtext(type) & 31)';

-- share_template_told: an instance says which template a type has; NULL: none. The last word holds, also after that
-- instance has ended. Locks: EXCLUSIVE on share_template, where it changes something; INSERTs only read that.
-- Index: the primary key.
-- Grant: scheduler
create or replace function bellhop.share_template_told(type text, template text, parts text[]) returns void
language plpgsql volatile
set search_path = pg_catalog, bellhop, pg_temp
as $$
declare
  bit bigint := bellhop.share_type_bit(share_template_told.type);
begin
  if template is null then
    if exists (select from bellhop.share_template t where t.type = share_template_told.type) then
      lock table bellhop.share_template in exclusive mode;
      delete from bellhop.share_template t where t.type = share_template_told.type;
    end if;
  elsif not exists (select from bellhop.share_template t where t.type = share_template_told.type and t.template = share_template_told.template and t.parts = share_template_told.parts)
        or coalesce(pg_sequence_last_value('bellhop.share_types'::regclass), 0) & bit = 0 then
    lock table bellhop.share_template in exclusive mode;
    insert into bellhop.share_template as t (type, template, parts) values (share_template_told.type, share_template_told.template, share_template_told.parts)
    on conflict on constraint share_template_pkey do update set template = excluded.template, parts = excluded.parts;
    perform setval('bellhop.share_types'::regclass, coalesce(pg_sequence_last_value('bellhop.share_types'::regclass), 0) | bit);
  end if;
end
$$;
