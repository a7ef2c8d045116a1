package setup

import (
	"strconv"
	"strings"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/sql"
)

// roles are those that the migrations ship.
const roles = "bellhop_submitter, bellhop_reader, bellhop_operator, bellhop_scheduler, bellhop_attach, bellhop_worker"

// rolesScript is the SQL that makes the roles and gives them what they have
// after the migrations: no less, and no more.
func rolesScript(logins bool) string {
	var b strings.Builder
	b.WriteString("-- The roles of bellhop and their rights, of schema version " + schemaVersion() + `.
-- Run it as a superuser, or as the schema's owner with CREATEROLE.
begin;

do $$
declare
  r text;
begin
  foreach r in array regexp_split_to_array('` + roles + `', ', ') loop
    if not exists (select from pg_catalog.pg_roles where rolname = r) then
      -- bellhop_attach is a login, without a password: code in users' tables runs in its sessions, so it may do nothing else.
      execute format('create role %I %s', r, case r when 'bellhop_attach' then 'login' else 'nologin' end);
    end if;
  end loop;
end
$$;

revoke all on schema bellhop from public, ` + roles + `;
revoke all on all tables in schema bellhop from public, ` + roles + `;
revoke all on all sequences in schema bellhop from public, ` + roles + `;
revoke all on all functions in schema bellhop from public, ` + roles + `;

`)
	for _, line := range sql.Rights() {
		b.WriteString(line + "\n")
	}
	b.WriteString(attachedGrants)
	if logins {
		b.WriteString(loginsScript)
	}
	b.WriteString("\ncommit;\n")
	return b.String()
}

const attachedGrants = `
-- The functions of tables that are attached: their owners' to grant, or a superuser's.
do $$
declare
  f regprocedure;
begin
  for f in select p.oid from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
            where n.nspname = 'bellhop_attached' loop
    begin
      execute format('grant execute on function %s to bellhop_attach', f);
    exception when insufficient_privilege then
      raise notice 'the owner of % is to attach its table again', f;
    end;
  end loop;
end
$$;
`

const loginsScript = `
-- Logins. They have no password until you set one: \password NAME
do $$
declare
  r text;
begin
  foreach r in array array['bellhop_serve', 'bellhop_msq', 'bellhop_db'] loop
    if not exists (select from pg_catalog.pg_roles where rolname = r) then
      execute format('create role %I login', r);
    end if;
  end loop;
end
$$;
grant bellhop_scheduler to bellhop_serve;              -- database.url
grant pg_read_all_stats to bellhop_serve;              -- to see which sessions others wait for
alter role bellhop_msq set statement_timeout = '1h';   -- database.msq_url: grant it SELECT on what queries read, and nothing in schema bellhop
alter role bellhop_db set statement_timeout = '1min';  -- database.db_url: grant it the rights of agents' DB: statements
-- bellhop_attach, made above: database.attach_url, with a password or a line in pg_hba.conf; grant it nothing
`

// schemaVersion is that of this program, in words.
func schemaVersion() string {
	plan, err := cli.Schema()
	if err != nil {
		return "?"
	}
	return strconv.Itoa(plan.Version())
}
