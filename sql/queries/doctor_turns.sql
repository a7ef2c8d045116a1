-- Whether a login ($1) can do nothing worth having, and whether it may take turns at attached tables. Index: the catalog's.
select bellhop.turns_apart($1::text::name) as apart,
       has_function_privilege($1::text::name, 'bellhop.turn_open(bigint)', 'execute') as may
