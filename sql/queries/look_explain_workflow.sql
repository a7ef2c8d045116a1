-- What starts workflow $1, and what keeps it from being started. Guard: readers only. Index: the primary keys of workflow and sensor; run_of.
select code, sentence, next from bellhop.explain_workflow($1)
