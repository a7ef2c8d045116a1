-- Definitions as they are: $1 patterns of LIKE for names. Guard: operators only. Index: workflow's primary key is read through.
select w.name, w.version, w.definition || jsonb_build_object('workflow', w.name, 'active', w.active) as definition
  from bellhop.workflow w where $1::text[] is null or w.name like any ($1::text[]) order by w.name
