-- A job that comes without a share gets the one that its type's template makes of its vars (agents[].share,
-- sql/functions/share_templates.sql). A template names at least one var, so jobs without vars are not touched. Nor are
-- those of types without a template: the sequence has a bit for each type that has one.
-- Grant: none
create or replace function bellhop.share_by_template() returns trigger
language plpgsql
security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
begin
  new.share := bellhop.template_share(new.type, new.args, new.key, new.vars);
  return new;
end
$$;

-- Before the row is written: filters, claims and the line of shares see one row, with its share.
create or replace trigger _005_share_template before insert on bellhop.jobqueue
  for each row when (new.share is null and new.vars is not null
    and pg_sequence_last_value('bellhop.share_types'::regclass) >> (hashtext(new.type) & 31) & 1 = 1)
  execute function bellhop.share_by_template();
