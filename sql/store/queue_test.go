package store

import (
	"fmt"
	"strings"
	"testing"

	"bellhop/scheduler/workflow"
)

// What becomes of five events that come at once, whatever their source: each that fills a parameter
// runs; of others one waits, and the rest is skipped. The sensor may say otherwise, and at_most counts.
func TestQueue_EventsThatComeAtOnce(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	s := desk(e, NewSensors)
	e.exec("create table arrivals (id int primary key)")
	e.apply("source", "null", `[{"name":"a","type":"cat"}]`)
	sensors := map[string]string{"table": `"table":"arrivals"`, "notify": `"notify":"n"`, "http": `"http":true`,
		"file": `"file":"/srv/in/*"`, "kafka": `"kafka":"main","topic":"t"`, "workflow": `"workflow":"source"`, "none": ""}
	type c struct {
		kind, fills, queue string
		most               int
	}
	var cases []c
	for kind := range sensors {
		for _, fills := range []string{"nothing", "parameter", "event"} {
			for _, queue := range []string{"", "all", "one"} {
				for _, most := range []int{0, 3} {
					if kind != "none" || queue == "" && most == 0 {
						cases = append(cases, c{kind, fills, queue, most})
					}
				}
			}
		}
	}
	for i, c := range cases {
		sensor := "null"
		if c.kind != "none" {
			sensor = "{" + sensors[c.kind]
			if c.queue != "" {
				sensor += `,"queue":"` + c.queue + `"`
			}
			if c.most > 0 {
				sensor += fmt.Sprintf(`,"at_most":%d,"per":"1h"`, c.most)
			}
			sensor += "}"
		}
		args, given := "${DAY}", "{}"
		switch c.fills {
		case "parameter":
			given = `{"DAY":"monday"}`
		case "event":
			args = "${EVENT}"
		}
		name := fmt.Sprintf("w%d", i)
		e.apply(name, sensor, `[{"name":"a","type":"cat","args":"`+args+`"}]`)
		e.exec("insert into bellhop.event (workflow, event, parameters) select $1, g::text, $2::jsonb from generate_series(1, 5) g", name, given)
	}
	for n := 1; n > 0; {
		n, _ = turn(e, s)
	}
	for i, c := range cases {
		starts := 2
		if c.queue == "all" || c.queue == "" && c.fills != "nothing" {
			starts = 5
		}
		if c.most > 0 {
			starts = min(starts, c.most)
		}
		want := fmt.Sprintf("1 running, %d queued, %d skipped", starts-1, 5-starts)
		got := e.one(`select format('%s running, %s queued, %s skipped', count(*) filter (where state = 'running'), count(*) filter (where state = 'queued'),
			count(*) filter (where state = 'skipped')) from bellhop.run where workflow = $1`, fmt.Sprintf("w%d", i))
		if got != want {
			t.Errorf("%+v: %s, want %s", c, got, want)
		}
	}
}

// The number of runs that wait is bounded, and an event beyond that says so and can be run later, once.
func TestQueue_BeyondTheBoundAnEventIsToldAndRunsLater(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	s := desk(e, NewSensors)
	e.apply("w", `{"http":true}`, `[{"name":"a","type":"cat","args":"${DAY} ${EVENT}"}]`)
	if got := e.one(`select bellhop.sensor_room('{"sensor":{"http":true,"queue":"all"}}', '{}')`); got != fmt.Sprint(workflow.MostQueued) {
		t.Errorf("the database lets %s runs wait, and the program knows of %d", got, workflow.MostQueued)
	}
	e.exec("insert into bellhop.run (workflow, version, triggered_by, state) select 'w', 1, 'test', 'queued' from generate_series(1, $1) g", workflow.MostQueued)
	e.exec("update bellhop.run r set last = j.id from (select bellhop.submit('cat', 'x', held => true) as id) j")
	e.exec(`select bellhop.workflow_http('w', 'late', '{"day":"monday"}')`)
	turn(e, s)
	const late = "select state || ': ' || reason from bellhop.run where event = 'http=late' order by id desc limit 1"
	if got := e.one(late); got != "skipped: 1000 runs of this workflow were queued already, and no more wait" {
		t.Fatal(got)
	}
	const codes = "select string_agg(code, ' ') from bellhop.explain_workflow('w') where code in ('events_skipped', 'run_skipped')"
	if got := e.one(codes); got != "events_skipped run_skipped" {
		t.Errorf("explain says %q", got)
	}
	e.exec("delete from bellhop.run where state = 'queued'")
	id := e.one("select bellhop.workflow_run('w', event => 'http=late')")
	if got := e.one("select args from bellhop.jobqueue where step = 'a' and run = $1::text::bigint", id); got != "monday http=late" {
		t.Errorf("it runs with %q", got)
	}
	if got := e.one("select run from bellhop.event"); got != id {
		t.Errorf("its run is %s, want %s", got, id)
	}
	got := e.fails("select bellhop.workflow_run('w', event => 'http=late')")
	if !strings.Contains(got, "has a run already") {
		t.Error(got)
	}
	if got := e.fails("select bellhop.workflow_run('w', event => 'http=never')"); !strings.Contains(got, "has no event http=never") {
		t.Error(got)
	}
	if got := e.one(codes); got != "" {
		t.Errorf("explain still says %q", got)
	}
}

// Under catch_up: all each slot that was missed runs, be it late by seconds only.
func TestSensors_AllRunsSlotsThatAreSecondsLate(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	s := desk(e, NewSensors)
	e.apply("w", `{"cron":"*/2 * * * * *","catch_up":"all"}`, `[{"name":"a","type":"cat"}]`)
	turn(e, s)
	e.exec("update bellhop.sensor set next_fire = next_fire - interval '14 s'")
	turn(e, s)
	got := e.one("select format('%s skipped, missed %s', count(*) filter (where r.state = 'skipped'), count(*) < 7) from bellhop.run r")
	if got != "0 skipped, missed f" {
		t.Error(got)
	}
}
