#!/bin/sh
# What the public image does at its first start, as far as the stack uses it:
# POSTGRES_USER, _PASSWORD and _DB, and the .sql files of its folder.
set -eu
if [ ! -s "$PGDATA/PG_VERSION" ]; then
	user=${POSTGRES_USER:-postgres} db=${POSTGRES_DB:-${POSTGRES_USER:-postgres}}
	words=$(mktemp)
	echo "$POSTGRES_PASSWORD" >"$words"
	initdb --username="$user" --pwfile="$words" --auth-local=trust --auth-host=scram-sha-256 --encoding=UTF8 --locale=C.UTF-8 >/dev/null
	rm "$words"
	echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
	pg_ctl start -w -s -o "-c listen_addresses=''"
	[ "$db" = postgres ] || createdb -U "$user" "$db"
	for file in /docker-entrypoint-initdb.d/*.sql; do
		[ ! -e "$file" ] || psql -qX -v ON_ERROR_STOP=1 -U "$user" -d "$db" -f "$file"
	done
	pg_ctl stop -w -s -m fast
fi
exec postgres -c listen_addresses='*' "$@"
