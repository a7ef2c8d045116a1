package store

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"bellhop/scheduler"
	"bellhop/scheduler/workflow"
)

const upload = `[{"name":"a","type":"cat","args":"${EVENT} ${PATH}"}]`

func (e *env) applyPath(name, sensor string) {
	e.Helper()
	e.exec("select bellhop.workflow_apply(jsonb_build_object('workflow', $1::text, 'sensor', $2::text::jsonb, 'parameters', '{\"PATH\":\"none\"}'::jsonb, 'steps', $3::text::jsonb))",
		name, sensor, upload)
}

func (e *env) args(want string) {
	e.Helper()
	if got := e.one("select string_agg(args, ', ' order by id) from bellhop.jobqueue where step = 'a'"); got != want {
		e.Errorf("jobs are of %q, want %q", got, want)
	}
}

// Rows of a table that a definition names are events; what was watched before is not any more.
func TestTableSensor(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	s := desk(e, NewSensors)
	e.exec("create schema shop; create table shop.uploads (id int primary key, path text); create table other (a int, b int)")
	e.applyPath("import", `{"table":"shop.uploads"}`)
	e.exec("insert into shop.uploads values (1, '/srv/a'), (2, null)")
	release := e.holding("insert into shop.uploads values (7, '/srv/rolled back')")
	release()
	if n, _ := turn(e, s); n != 2 {
		t.Errorf("%d fired", n)
	}
	e.args("shop.uploads=1 /srv/a, shop.uploads=2 none")
	if got := e.fails(`select bellhop.workflow_apply('{"workflow":"x","sensor":{"table":"other"},"steps":[{"name":"a","type":"cat"}]}')`); !strings.Contains(got, "no primary key of one column") {
		t.Error(got)
	}
	if got := e.fails(`select bellhop.workflow_apply('{"workflow":"x","sensor":{"table":"bellhop.run"},"steps":[{"name":"a","type":"cat"}]}')`); !strings.Contains(got, "not a table of yours") {
		t.Error(got)
	}
	if got := e.fails(`select bellhop.workflow_apply('{"workflow":"x","sensor":{"table":"none"},"steps":[{"name":"a","type":"cat"}]}')`); !strings.Contains(got, "there is no table none") {
		t.Error(got)
	}
	const triggers = "select string_agg(tgrelid::regclass::text, ' ') from pg_trigger where tgname like 'bellhop\\_sensor\\_%'"
	if got := e.one(triggers); got != "shop.uploads" {
		t.Errorf("triggers on %q", got)
	}
	e.applyPath("import", `{"table":"other","event":"b"}`)
	e.exec("insert into shop.uploads values (3, 'x'); insert into other values (1, 10), (2, null)")
	if n, _ := turn(e, s); n != 1 || e.one(triggers) != "other" {
		t.Errorf("%d fired, and triggers on %q", n, e.one(triggers))
	}
	// Who may not read a table watches none; an INSERT is not hindered by a column that has gone.
	e.exec("alter table other drop column b; insert into other values (3)")
	e.exec("create role operator_of_tables login in role bellhop_operator; set role operator_of_tables")
	if got := e.fails(`select bellhop.workflow_apply('{"workflow":"spy","sensor":{"table":"shop.uploads"},"steps":[{"name":"a","type":"cat"}]}')`); !strings.Contains(got, "operator_of_tables may not watch table shop.uploads") {
		t.Error(got)
	}
	e.exec("reset role; drop role operator_of_tables")
	e.exec("select bellhop.workflow_change('import', 'deleted') from bellhop.run where false")
	e.exec("update bellhop.run set state = 'failed' where state in ('queued', 'running'); select bellhop.workflow_change('import', 'deleted')")
	if got := e.one(triggers); got != "" {
		t.Errorf("triggers are left on %q", got)
	}
}

// A table that is gone, or somebody else's, keeps nobody from stopping a workflow, or from changing its steps; only who
// may watch it has its rows become events.
func TestTableSensor_OfATableThatIsGoneOrAnothers(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec("create table gone (id int primary key); create table others (id int primary key)")
	for _, table := range []string{"gone", "others"} {
		e.applyPath(table, `{"table":"`+table+`"}`)
	}
	e.exec("drop table gone; create role operator_of_none login in role bellhop_operator; set role operator_of_none")
	const edited = `select bellhop.workflow_apply(d.definition || '{"steps":[{"name":"b","type":"cat"}]}' || jsonb_build_object('workflow', $1::text, 'active', $2::boolean))
		from (select definition from bellhop.workflow where name = $1) d`
	for _, table := range []string{"gone", "others"} {
		e.exec(edited, table, true)
		e.exec("select bellhop.workflow_change($1, 'deactivated')", table)
	}
	e.exec("select bellhop.workflow_change('others', 'activated')") // its trigger is there still
	if got := e.fails("select bellhop.workflow_change('gone', 'activated')"); !strings.Contains(got, "no table gone") {
		t.Error(got)
	}
	// By way of another sensor nobody comes to what he may not watch.
	other := func(sensor string, active bool) string {
		return fmt.Sprintf(`select bellhop.workflow_apply('{"workflow":"others","active":%t,"sensor":%s,"steps":[{"name":"a","type":"cat"}]}')`,
			active, sensor)
	}
	e.exec(other("null", true))
	e.exec(other(`{"table":"others"}`, false))
	if got := e.fails("select bellhop.workflow_change('others', 'activated')"); !strings.Contains(got, "may not watch table public.others") {
		t.Error(got)
	}
	e.exec("reset role; drop role operator_of_none")
	e.exec("select bellhop.workflow_change('others', 'activated')")
	e.exec("insert into others values (1)")
	if got := e.one("select string_agg(event, ' ') from bellhop.event"); got != "others=1" {
		t.Errorf("events are %q", got)
	}
}

// A request starts a workflow that says so, once for each event; who may submit may post.
func TestHTTPSensor(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	s := desk(e, NewSensors)
	e.applyPath("hook", `{"http":true}`)
	e.applyPath("no", "null")
	for _, c := range []struct{ call, want string }{
		{`workflow_http('hook', 'a', '{"path":"/x","other":1}')`, "true"}, {`workflow_http('hook', 'a', '{}')`, "false"},
		{"workflow_http('hook')", "true"}, {"workflow_http('hook')", "true"}, {"workflow_http('nobody')", ""},
	} {
		if got := e.one("select bellhop." + c.call); got != c.want {
			t.Errorf("%s: %q, want %q", c.call, got, c.want)
		}
	}
	if n, _ := turn(e, s); n != 3 {
		t.Errorf("%d fired", n)
	}
	if got := e.one("select args from bellhop.jobqueue where step = 'a' order by id limit 1"); got != "http=a /x" {
		t.Error(got)
	}
	for call, want := range map[string]string{"workflow_http('no')": "not started by requests",
		"workflow_http('hook', '')":        "1 to 190 letters",
		"workflow_http('hook', 'b', '[]')": "not a JSON object"} {
		if got := e.fails("select bellhop." + call); !strings.Contains(got, want) {
			t.Errorf("%s: %s", call, got)
		}
	}
}

// Of what is told, no more comes to runs in an interval than the sensor says; the rest says why.
func TestSensors_AtMostSoManyEvents(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	s := desk(e, NewSensors)
	e.applyPath("hook", `{"http":true,"at_most":2,"per":"1h"}`)
	for range 3 {
		e.exec("select bellhop.workflow_http('hook')")
		turn(e, s)
		e.exec("update bellhop.run set state = 'succeeded', ended_at = now() where state = 'running'; update bellhop.jobqueue set state = 'succeeded', ended_at = now()")
	}
	e.runs("1 succeeded, 2 succeeded, 3 skipped")
	if got := e.one("select reason from bellhop.run where id = 3"); got != "its sensor has started it 2 times in the last 1h" {
		t.Error(got)
	}
	e.exec("update bellhop.sensor set recent = array(select r - interval '1 h' from unnest(recent) r); select bellhop.workflow_http('hook')")
	turn(e, s)
	e.runs("1 succeeded, 2 succeeded, 3 skipped, 4 running")
}

// What is watched goes to instances that see it, and only its owner tells of it.
func TestWatches(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	s, w := desk(e, NewSensors), desk(e, NewWatches)
	ctx := t.Context()
	e.applyPath("in", `{"file":"/srv/in/*.csv"}`)
	e.applyPath("said", `{"notify":"uploads"}`)
	e.applyPath("top", `{"kafka":"main","topic":"t"}`)
	turn(e, s)
	e.owners("0") // the first, of the version before, sees none
	if got := e.one("select bellhop.unassigned()::text || coalesce(bellhop.watched($1)::text, '')", int64(e.me)); got != "false" {
		t.Errorf("unassigned: %s", got)
	}
	e.exec(`update bellhop.instance set watches = '{"notify":true}' where id = $1`, int64(e.me))
	second := e.register("second", time.Minute)
	e.exec(`update bellhop.instance set watches = '{"notify":true,"files":["/srv","/srv/inner"],"kafka":["main"]}' where id = $1`, int64(second))
	turn(e, s)
	e.owners("1 2")
	if got := e.one("select bellhop.unassigned()::text"); got != "false" {
		t.Errorf("unassigned: %s", got)
	}
	first := e.one("select bellhop.watched($1)", int64(second))
	list, err := w.Mine(ctx, second)
	if err != nil || len(list) != 2 || list[0].Workflow != "in" ||
		list[0].Sensor.File != "/srv/in/*.csv" || list[1].Sensor.Kafka != "main" {
		t.Fatalf("%+v, %v", list, err)
	}
	seen := []workflow.Happening{{Event: "/srv/in/1.csv", Given: map[string]string{"path": "/srv/in/1.csv", "other": "x"}},
		{Event: "/srv/in/1.csv"}, {}, {}}
	for range 2 {
		if mine, err := w.Happened(ctx, second, "in", workflow.Sight{Events: seen[:2]}); !mine || err != nil {
			t.Fatal(mine, err)
		}
	}
	if mine, err := w.Happened(ctx, second, "in", workflow.Sight{Events: seen[2:]}); !mine || err != nil {
		t.Fatal(mine, err)
	}
	if mine, err := w.Happened(ctx, e.me, "in", workflow.Sight{Events: seen}); mine || err != nil {
		t.Errorf("another's was kept: %t, %v", mine, err)
	}
	if n, _ := turn(e, s); n != 3 {
		t.Errorf("%d fired", n)
	}
	e.args("/srv/in/1.csv /srv/in/1.csv, file:1 none, file:2 none")
	lag := func(by scheduler.InstanceID, n int64, want string) {
		t.Helper()
		if err := w.Lag(ctx, by, "top", n); err != nil {
			t.Error(err)
		}
		if got := e.one("select coalesce(lag::text, 'not known') from bellhop.sensor where workflow = 'top'"); got != want {
			t.Errorf("it is %s behind, want %s", got, want)
		}
	}
	lag(second, 7, "7")
	lag(e.me, 9, "7") // it is not this one's
	if err := w.Failing(ctx, second, "top", "no such topic"); err != nil {
		t.Error(err)
	}
	if err := w.Failing(ctx, second, "top", ""); err != nil {
		t.Error(err)
	}
	lag(e.me, 9, "not known")
	if err := w.Failing(ctx, second, "in", "no such folder"); err != nil {
		t.Fatal(err)
	}
	if list, err := w.Mine(ctx, second); err != nil || list[0].Told != "no such folder" {
		t.Errorf("%+v, %v", list, err)
	}
	if err := w.Failing(ctx, second, "in", ""); err != nil || e.one("select count(*) from bellhop.sensor where problem is not null or since is not null") != "0" {
		t.Error(err)
	}
	e.applyPath("top", `{"kafka":"main","topic":"u"}`)
	if now := e.one("select bellhop.watched($1)", int64(second)); now == first {
		t.Error("another topic, and nobody is told")
	}
	// The same list of an instance that has come back under another id is another one.
	first = e.one("select bellhop.watched($1)", int64(second))
	e.exec("update bellhop.workflow set instance = $2 where instance = $1", int64(second), int64(second)+1)
	if now := e.one("select bellhop.watched($1)", int64(second)+1); now == first {
		t.Error("under another id it is the same list")
	}
	e.exec("update bellhop.workflow set instance = $1 where instance = $2", int64(second), int64(second)+1)
	e.exec("update bellhop.instance set state = 'gone' where id = $1", int64(second))
	if mine, err := w.Happened(ctx, second, "in", workflow.Sight{Events: seen}); mine || err != nil {
		t.Errorf("one that is gone has told: %t, %v", mine, err)
	}
	turn(e, s)
	e.owners("1") // files are seen by nobody now
}

// Law: an event without a name of its own is new each time, whatever names others have.
func TestEvents_WithoutANameAreNew(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec(`select bellhop.workflow_apply('{"workflow": "hook", "sensor": {"http": true}, "steps": [{"name": "a", "type": "cat"}]}')`)
	next := e.one("select nextval('bellhop.event_number') + 1")
	if got := e.one("select bellhop.workflow_http('hook', $1)", next); got != "true" {
		t.Fatalf("a named event is new: %s", got)
	}
	if got := e.one("select bellhop.workflow_http('hook')"); got != "true" {
		t.Errorf("one without a name is new: %s", got)
	}
}
