-- One turn of an attachment: outcomes into the user's table, rows out of it. Guard: FOR UPDATE SKIP LOCKED on the
-- attachment, then on its rows. Index: the primary key; attached_live.
select taken, ended from bellhop.take_attached($1)
