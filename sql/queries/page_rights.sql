-- What whoever asks may do, so that a page shows no button that would be refused. What is done is refused by PostgreSQL itself.
select bellhop.is_operator() as operates, bellhop.is_reader() as reads,
       pg_catalog.has_any_column_privilege(bellhop.caller(), 'bellhop.jobqueue'::regclass, 'insert') as submits
