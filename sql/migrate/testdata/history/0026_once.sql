-- bellhop.submit has more arguments from now on (sql/functions/submit.sql): the one with fewer would stand beside it.
drop function if exists bellhop.submit;
