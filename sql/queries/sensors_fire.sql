-- Makes runs of a workflow's slots: $1 workflow, $2 events, $3 slots, $4 whether they are made up for, $5 the next
-- slot, $6 whether a run that cannot be made is recorded as failed, $7 the first slot that is held until $5. Guard:
-- each event once. Index: event's primary key.
select bellhop.fire($1, $2::text[], $3::timestamptz[], $4::boolean[], $5::timestamptz, $6, $7::timestamptz)
