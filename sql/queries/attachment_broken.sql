-- Says why an attachment ($1) does not run ($2). Guard: only what is news is written. Index: the primary key.
update bellhop.attachment set state = 'broken', trouble = $2, state_since = clock_timestamp()
 where id = $1 and (state, trouble) is distinct from ('broken', $2)
