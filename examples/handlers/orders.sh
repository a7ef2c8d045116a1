#!/bin/bash
# Makes invoices of orders: DATABASE_URL=… ./orders.sh. It needs psql (Debian: postgresql-client).
sql() { psql "$DATABASE_URL" -XAtq -F ' ' -v ON_ERROR_STOP=1 -v id="$id" -v fence="$fence" -v order="$order" "$@"; }
invoice() {
  local lines price total=0
  lines=$(sql <<<"select price from order_line where order_id = :'order'") || return
  for price in $lines; do
    total=$((total + price)) # the work, part by part; after each part the lease begins again
    [ "$(sql <<<"select cancel from bellhop.renew(:'id', :'fence', '1 min')")" = f ] || { echo cancelled; return 1; }
  done
  sql -v total="$total" <<'SQL' # the invoice and the end of the job: both, or neither
begin;
insert into invoice (order_id, total) values (:'order', :'total');
select bellhop.finish(:'id', :'fence', to_jsonb(:total));
commit;
SQL
}
while :; do
  job=$(sql <<<"select id, fence, args from bellhop.take('{invoice}', 1, '1 min')")
  [ "$job" ] || { sleep 1; continue; } # no job is ready; psql hears no ring while it is idle
  read -r id fence order <<<"$job"
  error=$(invoice 2>&1) || sql -v error="$error" <<<"select bellhop.fail(:'id', :'fence', :'error', '10 s')" >/dev/null
done
