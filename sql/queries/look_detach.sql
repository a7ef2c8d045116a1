-- Detaches a table; $1 its name, or the attachment's. Index: attachment_name_key.
select bellhop.detach($1)
