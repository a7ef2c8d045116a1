package store

import (
	"fmt"
	"testing"
	"time"

	"bellhop/scheduler"
	"bellhop/scheduler/workflow"
)

const inJanuary = `{"cron":"0 0 1 1 *"}`

// A workflow of which a run is open stays where it is, running or queued, whoever comes; when that is over it may go.
func TestAssigned_NoneMovesWhileARunIsOpen(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	s := desk(e, NewSensors)
	for i := range 6 {
		e.apply(fmt.Sprint("w", i), inJanuary, `[{"name":"a","type":"cat"}]`)
	}
	e.exec("select bellhop.workflow_run('w' || g) from generate_series(1, 5) g")
	e.exec("update bellhop.run set state = 'queued' where workflow = 'w1'")
	turn(e, s)
	e.owners("6")
	second := e.register("second", time.Minute)
	turn(e, s)
	e.owners("5 1")
	if got := e.one("select string_agg(name, ' ') from bellhop.workflow where instance = $1", int64(second)); got != "w0" {
		t.Errorf("%s moved, and of w0 alone no run is open", got)
	}
	e.exec("select bellhop.run_ended(id, 'succeeded', null) from bellhop.run where workflow in ('w1', 'w4')")
	turn(e, s)
	e.owners("3 3")
	got := e.one("select string_agg(name, ' ' order by name) from bellhop.workflow where instance = $1", int64(second))
	if got != "w0 w1 w4" {
		t.Errorf("%s are the second's, and only those moved whose runs are over", got)
	}
}

// A file that lies on one host is looked for by the instance of that name alone, and by nobody where there is none;
// one of no host by any that sees the folder.
func TestAssigned_FileOfAHost(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	s, w := desk(e, NewSensors), desk(e, NewWatches)
	second := e.register("second", time.Minute)
	const sees = `update bellhop.instance set watches = '{"files":["/srv"]}'`
	e.exec(sees)
	e.applyPath("there", `{"file":"/srv/in/*.csv","host":"second"}`)
	e.applyPath("there-too", `{"file":"/srv/in/*.txt","host":"second"}`)
	e.applyPath("nowhere", `{"file":"/srv/in/*.csv","host":"third"}`)
	turn(e, s)
	e.owners("0 2") // evenly would be one each
	if list, err := w.Mine(t.Context(), e.me); err != nil || len(list) != 0 {
		t.Errorf("the first watches %+v, %v", list, err)
	}
	seen := []workflow.Happening{{Event: "/srv/in/1.csv"}}
	for instance, want := range map[scheduler.InstanceID]bool{e.me: false, second: true} {
		if mine, err := w.Happened(t.Context(), instance, "there", workflow.Sight{Events: seen}); mine != want || err != nil {
			t.Errorf("instance %d tells of a file: %t, %v", instance, mine, err)
		}
	}
	if n, _ := turn(e, s); n != 1 {
		t.Errorf("%d fired", n)
	}
	e.exec("update bellhop.run set state = 'succeeded', ended_at = now()")
	e.exec("update bellhop.instance set state = 'gone' where id = $1", int64(second))
	turn(e, s)
	e.owners("0")
	e.register("third", time.Minute)
	e.exec(sees)
	e.applyPath("anywhere", `{"file":"/srv/in/*.csv"}`)
	turn(e, s)
	e.owners("1 1") // what is only the third's, and then the other evenly
}
