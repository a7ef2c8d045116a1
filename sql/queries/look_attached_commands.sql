-- The commands of attachments, which are for operators. Index: the primary key; there are few.
select id, cmd from bellhop.attachment where cmd is not null
