-- Works from: 0051
-- Agents of instances keep steps, sleep and await events (../functions/steps.sql). An older binary gives its agents no
-- steps on their lines, and knows no such words of theirs.
select 1;
