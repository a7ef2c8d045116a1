#!/bin/bash
# Orders with nothing but bash and psql: DATABASE_URL=… order.sh [ORDER]
sql() { psql "$DATABASE_URL" -XAtq -v ON_ERROR_STOP=1 -v job="$job" -v fence="$fence" -v id="$id" -v to="$to"; }
step() { # NAME SQL: the rows and the step are there together, and once
  [[ $steps == *"\"$1\":"* ]] || sql <<<"begin; $2; select bellhop.save_step(:'job', :'fence', '$1'); commit"
}
for id; do
  sql <<<"begin; insert into orders values (:'id'); insert into bellhop.jobqueue (type, args) values ('order', :'id'); commit"
done
while :; do
  IFS='|' read -r job fence id steps < <(sql <<<"select id, fence, args, steps from bellhop.take('{order}', 1, '1 min')") ||
    { sleep 1; continue; } # no job is ready
  step reserve "insert into reserved values (:'id')" && step charge "insert into charged values (:'id')" &&
    to=$(sql <<<"select payload ->> 'to' from bellhop.await_event(:'job', :'fence', 'parcel.' || :'id', '3 days') where came") &&
    [[ -n $to ]] && # else the job waits as a row, and a later run comes here again
    sql <<<"begin; insert into mails values (:'id', :'to'); select bellhop.finish(:'job', :'fence'); commit"
done
