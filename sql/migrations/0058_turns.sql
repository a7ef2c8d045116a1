-- Works from: 0051
-- turn_record tells how many rows wait for a place, too; functions/turns.sql makes it anew, and older binaries read what
-- they read before.
drop function if exists bellhop.turn_record(bigint, text[], text[], text[], text[]);
