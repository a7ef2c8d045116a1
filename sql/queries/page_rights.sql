-- The caller's rights, so that a page shows no button that would be refused. PostgreSQL itself refuses the action.
select bellhop.is_operator() as operates, bellhop.is_reader() as reads,
       pg_catalog.has_any_column_privilege(bellhop.caller(), 'bellhop.jobqueue'::regclass, 'insert') as submits
