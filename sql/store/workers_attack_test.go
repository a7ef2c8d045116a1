package store

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// intruders are logins without a right to jobs of type mail.
var intruders = map[string]string{
	"intruder_plain":     "",
	"intruder_typeless":  "grant bellhop_worker to $me",
	"intruder_sms":       "grant bellhop_worker to $me; insert into bellhop.worker_type values ('$me', 'sms')",
	"intruder_no_role":   "insert into bellhop.worker_type values ('$me', 'mail')",
	"intruder_submitter": "grant bellhop_submitter to $me",
	"intruder_reader":    "grant bellhop_reader to $me",
}

// attacks get or end a job of mail, if one succeeds: $id and $fence are those of a job that another worker has.
var attacks = []string{
	"select bellhop.take('{mail}')",
	"select bellhop.take('{mail}', 1000, '1 day')",
	"select bellhop.take('{sms,mail}', 10)",
	"select bellhop.take(array_fill('mail'::text, '{100}'))",
	"select bellhop.take(array_fill('mail'::text, '{100000}'))",
	"select bellhop.finish($id, $fence)",
	"select bellhop.finish($id, $fence, '{}')",
	"select bellhop.finish($id, $fence + 1)",
	"select bellhop.finish(i, f) from generate_series($id - 3, $id + 3) i, generate_series($fence - 3, $fence + 3) f",
	"select bellhop.finish_all(array[$id], array[$fence])",
	"select bellhop.finish_all(array(select generate_series($id - 3, $id + 3)), array_fill($fence, '{7}'))",
	"select bellhop.fail($id, $fence, 'x')",
	"select bellhop.fail($id, $fence, 'x', '-1 s')",
	"select bellhop.fail($id, null, null)",
	"select bellhop.renew($id, $fence)",
	"select bellhop.renew($id, $fence, '-1 day')",
	"select bellhop.renew($id, $fence, null)",
	"select bellhop.finish_item($id, $fence, 'a')",
	"select bellhop.own_run($id, $fence)",
	"select bellhop.end_badly(j, null, null) from bellhop.jobqueue j",
	"select bellhop.end_well(array[$id], array[$fence], null)",
	"select bellhop.claim_for_worker('{mail}', 1, '1 min')",
	"select bellhop.expire_leases(1000)",
	"select bellhop.keep_house()",
	"update bellhop.jobqueue set fence = fence + 1",
	"insert into bellhop.worker_type values (current_user, 'mail')",
	"delete from bellhop.worker_type",
}

// disguises put an attack in other clothes: before and after it.
var disguises = map[string][2]string{
	"plain":          {"", ""},
	"a savepoint":    {"savepoint s; ", "; rollback to s"},
	"serializable":   {"set transaction isolation level serializable; ", ""},
	"prepared":       {"prepare attack as ", "; execute attack"},
	"the role":       {"set local role bellhop_worker; ", ""},
	"a search path":  {"set local search_path = evil, bellhop, pg_catalog; ", ""},
	"a temp schema":  {"create temp table worker_type (login name, type text) on commit drop; insert into worker_type values (current_user, 'mail'); ", ""},
	"a setting":      {"set local bellhop.caller = 'worker_victim'; set local application_name = 'worker_victim'; ", ""},
	"a loop":         {"do $x$ begin for i in 1..3 loop begin perform 1 from (", ") q; exception when others then null; end; end loop; end $x$"},
	"another's name": {"set session authorization worker_victim; ", ""},
}

// None of the attacks gets, ends or keeps a job of another's type, or changes its row.
func TestWorker_AttacksGetNoJobOfAnothersType(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	w := e.worker("worker_victim", "mail")
	e.insert("type", "'mail'")
	r := e.takeOne(w, "mail")
	e.insert("type", "'mail'")
	e.exec(`create schema evil; grant all on schema evil to public;
		create function evil.caller() returns name language sql as 'select ''worker_victim''::name';
		create function evil.works_for(text) returns boolean language sql as 'select true';
		create function evil.refuse_worker(text) returns void language sql as '';
		create table evil.worker_type as select 'x'::name as login, 'mail'::text as type; grant all on all tables in schema evil to public`)
	const all = "select string_agg(to_jsonb(q)::text, e'\n' order by q.id) || (select count(*) from bellhop.worker_type) from bellhop.jobqueue q"
	n := 0
	for login, rights := range intruders {
		e.exec("do $$ begin create role " + login + " login; exception when duplicate_object or unique_violation then null; end $$")
		if rights != "" {
			e.exec(strings.ReplaceAll(rights, "$me", login))
		}
	}
	before := e.one(all)
	for login := range intruders {
		for name, disguise := range disguises {
			conn := e.connectAs(login)
			for _, attack := range attacks {
				if name == "a loop" && !strings.HasPrefix(attack, "select") {
					continue
				}
				n++
				text := strings.NewReplacer("$id", fmt.Sprint(r.id), "$fence", fmt.Sprint(r.fence)).Replace(attack)
				// An attack that commits is the worse one: so each does.
				_, err := conn.Exec(t.Context(), "begin; "+disguise[0]+text+disguise[1]+"; commit")
				if code := sqlstate(err); name != "a loop" && (err == nil || code[:2] == "42" && code != "42501") {
					t.Errorf("not refused, or not by a right: %s, %s: %s: %v", login, name, text, err)
				}
				_, _ = conn.Exec(t.Context(), "rollback")
				_, _ = conn.Exec(t.Context(), "deallocate all")
				if now := e.one(all); now != before {
					t.Fatalf("%s, %s: %s: the jobs were\n%s\nand are\n%s", login, name, text, before, now)
				}
			}
			_ = conn.Close(context.Background())
		}
	}
	if n < 200 {
		t.Errorf("%d attacks, want 200 or more", n)
	}
	t.Logf("%d attacks", n)
}

// connectAs is a session that logs in as another role, and has no way back to its superuser.
func (e *env) connectAs(login string) *pgx.Conn {
	e.Helper()
	config, err := pgx.ParseConfig(e.url)
	if err != nil {
		e.Fatal(err)
	}
	config.User = login
	config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol // several statements at once
	conn, err := pgx.ConnectConfig(e.Context(), config)
	if err != nil {
		e.Fatal(err)
	}
	return conn
}
