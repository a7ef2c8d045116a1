package store

import (
	"fmt"
	"testing"
)

// Each run that is skipped is told to whoever asks for that, whatever skips it; a run that is not, is not.
func TestSkipped_EachIsTold(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	s := desk(e, NewSensors)
	const asks = `[{"when":["skipped"],"mail":["ops@example.org"]}]`
	apply := func(name, sensor string) {
		t.Helper()
		e.exec(`select bellhop.workflow_apply(jsonb_build_object('workflow', $1::text, 'sensor', $2::text::jsonb,
			'steps', '[{"name":"a","type":"cat"}]'::jsonb, 'notify', $3::text::jsonb))`, name, sensor, asks)
	}
	apply("hook", `{"http":true,"at_most":1,"per":"1h"}`)
	apply("queues", "null")
	apply("stopped", "null")
	e.exec("select bellhop.workflow_http('hook', g::text) from generate_series(1, 2) g")
	e.exec("select bellhop.workflow_event('queues', g::text) from generate_series(1, 3) g")
	e.exec("select bellhop.workflow_event('stopped', '1'), bellhop.workflow_change('stopped', 'deactivated')")
	turn(e, s)
	const want = "hook: its sensor has started it 1 times in the last 1h, " +
		"queues: a run of this workflow was queued already, stopped: the workflow is not active"
	const skipped = "select string_agg(workflow || ': ' || reason, ', ' order by workflow) from bellhop.%s where state = 'skipped'"
	if got := e.one(fmt.Sprintf(skipped, "run")); got != want {
		t.Fatalf("skipped are %q", got)
	}
	if got := e.one(fmt.Sprintf(skipped, "run_end")); got != want {
		t.Errorf("told are %q, want %q", got, want)
	}
	if got := e.one("select count(*) from bellhop.run_end where state <> 'skipped'"); got != "0" {
		t.Errorf("%s are told of besides", got)
	}
}
