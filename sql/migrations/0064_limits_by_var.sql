-- Works from: 0051
-- A filter limits jobs for each value of a var (../functions/filters.sql). An older binary takes such a rule for PAUSE.
select 1;
