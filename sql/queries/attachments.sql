-- What is attached. Index: the primary key; there are few.
select id from bellhop.attachment order by id
