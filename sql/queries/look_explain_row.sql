-- Why a row of an attached table ($1) with this key ($2) does not run. Index: attachment_name_key; attached's primary key.
select code, sentence, next from bellhop.explain_row($1, $2)
