-- Which workflows have a step of a type: $1. Guard: operators only, as args stand beside it. Index: none, all definitions are read.
select w.name from bellhop.workflow w
 where exists (select from jsonb_array_elements(w.definition -> 'steps') s where s ->> 'type' = $1::text) order by w.name
