-- Attachments, and the types that workers may take, are recorded as changes here: their rows are written without a
-- function of ours that has the owner's rights (../sql/functions/changes.sql).
-- Grant: none
create or replace function bellhop.changed_row() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if tg_relid = 'bellhop.worker_type'::regclass then
    if tg_op <> 'INSERT' then
      perform bellhop.changed('worker_type', 'login', old.login, 'may not take ' || old.type || ' any more');
    end if;
    if tg_op <> 'DELETE' then
      perform bellhop.changed('worker_type', 'login', new.login, 'may take ' || new.type);
    end if;
  elsif tg_op = 'INSERT' then
    perform bellhop.changed('attach', 'attachment', new.name, 'pool ' || new.pool);
  elsif old.detached_at is null and new.detached_at is not null then
    perform bellhop.changed('detach', 'attachment', new.name, 'detached');
  elsif old.pool <> new.pool then
    perform bellhop.changed('attach', 'attachment', new.name, format('pool %s → %s', old.pool, new.pool));
  end if;
  return null;
end
$$;

create or replace trigger _900_changed
  after insert or update of pool, detached_at on bellhop.attachment
  for each row execute function bellhop.changed_row();
create or replace trigger _900_changed_types
  after insert or update or delete on bellhop.worker_type
  for each row execute function bellhop.changed_row();
