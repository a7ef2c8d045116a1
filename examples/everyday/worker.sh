#!/bin/sh
# A worker in bash: DATABASE_URL=… worker.sh TYPE COMMAND…  It gives each job's args to the command, on stdin.
type=$1; shift
while :; do
  psql "$DATABASE_URL" -XAtq -F ' ' -v type="$type" <<'SQL' | (
    select id, fence, args from bellhop.take(array[:'type'], 1, '10 min')
SQL
    read -r id fence args || exit 1 # nothing is ready
    if said=$(printf '%s\n' "$args" | "$@" 2>&1); then end="finish(:'id', :'fence', to_jsonb(:'said'::text))"; else end="fail(:'id', :'fence', :'said')"; fi
    echo "select bellhop.$end" | psql "$DATABASE_URL" -XAtq -v id="$id" -v fence="$fence" -v said="$(printf %s "$said" | tail -c 100000 | iconv -cf utf-8 -t utf-8)" >&2
  ) || sleep 1
done
