-- Inserts jobs and returns their ids, in their order, all of them or none: $1 an array of objects, JSON, whose names are
-- the columns. Guard: the constraints of an INSERT, and the caller's rights on its columns. Index: those of jobqueue.
insert into bellhop.jobqueue ({columns})
select {columns} from jsonb_populate_recordset(null::bellhop.jobqueue, $1::text::jsonb) with ordinality j
 order by j.ordinality
returning id
