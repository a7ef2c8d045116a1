package migrate_test

import "testing"

// Who may do what with workflows.
func TestRoles_Workflows(t *testing.T) {
	t.Parallel()
	admin, url := setup(t)
	operator, submitter := login(t, admin, url, "bellhop_operator"), login(t, admin, url, "bellhop_submitter")
	reader := login(t, admin, url, "bellhop_reader")
	const definition = `select bellhop.workflow_apply('{"workflow":"w","steps":[{"name":"a","type":"t","args":"secret"}]}')`
	exec(t, operator, definition)
	if id := one[int64](t, operator, "select bellhop.workflow_run('w')"); id != 1 {
		t.Errorf("run %d", id)
	}
	if text := one[string](t, operator, "select definition::text from bellhop.workflow"); text == "" {
		t.Error("an operator sees no definition")
	}
	// An event is a submitter's to tell, and no more.
	if is := one[bool](t, submitter, "select bellhop.workflow_event('w', 'x')"); !is {
		t.Error("an event of a submitter's is not new")
	}
	for _, text := range []string{definition, "select bellhop.workflow_run('w')", "select bellhop.workflow_retry(1)",
		"select bellhop.workflow_change('w', 'deleted')",
		"select * from bellhop.workflow", "select name from bellhop.workflow", "select id from bellhop.run",
		"select * from bellhop.run_step",
		"insert into bellhop.event (workflow, event) values ('w', 'y')", "update bellhop.run set state = 'failed'",
		"insert into bellhop.jobqueue (type, run) values ('t', 1)",
		"insert into bellhop.jobqueue (type, step) values ('t', 'a')"} {
		denied(t, submitter, text)
	}
	exec(t, reader, "select name, project, active, version, instance from bellhop.workflow")
	exec(t, reader, "select id, workflow, event, triggered_by, state, created_at, ended_at from bellhop.run")
	exec(t, reader, "select workflow, event, at, run from bellhop.event")
	if n := one[int](t, reader, "select count(*)::int from bellhop.run_step where step = 'a'"); n != 1 {
		t.Errorf("a reader sees %d steps", n)
	}
	exec(t, reader, "select bellhop.sensor_of('w')")
	denied(t, submitter, "select bellhop.sensor_of('w')")
	for _, text := range []string{definition, "select bellhop.workflow_run('w')",
		"select bellhop.workflow_event('w', 'z')",
		"select definition from bellhop.workflow",
		"select definition from bellhop.workflow_past", "select parameters from bellhop.run",
		"select parameters from bellhop.event", "delete from bellhop.run"} {
		denied(t, reader, text)
	}
	for _, fn := range []string{"workflow_write('w', '{}', true, 'changed')", "run_ended(1, 'failed', 'x')",
		"take_events(1, false)",
		"runs_moved('{1}')", "runs_wait('w')", "runs_go_on('w')", "step_again(1, '{}')", "fire('w', '{}', '{}', '{}', null, false)"} {
		denied(t, submitter, "select bellhop."+fn)
		denied(t, reader, "select bellhop."+fn)
	}
}
