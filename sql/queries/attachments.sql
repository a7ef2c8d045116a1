-- The attachments, the function of each, and why that cannot be called. Index: the primary key; there are few.
select a.id, a.turn, coalesce(bellhop.turn_trouble(a.id), '') from bellhop.attachment a order by a.id
