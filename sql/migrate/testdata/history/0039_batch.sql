-- bellhop.submit and bellhop.edit have more arguments from now on (sql/functions/submit.sql, edit.sql): the ones with fewer
-- would stand beside them.
drop function if exists bellhop.submit;
drop function if exists bellhop.edit;
