package store

import "testing"

// What a step says of its job, its job has: filled in with the values of the run; and what it does not say is as in
// any other job.
func TestWorkflow_WhatAStepSaysItsJobHas(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.apply("w", "null", `[
		{"name":"all","type":"cat","run_on":"big-${DAY}","priority":7,"vars":{"DAY":"${DAY}","AS_IS":"$${DAY}"},
		 "locks":["db:${DAY}=exclusive","disk:1=shared"],"max_attempts":3,"timeout":"1h30m","on_failure":"run"},
		{"name":"once","type":"cat","max_attempts":1},
		{"name":"none","type":"cat"}]`)
	e.exec(`select bellhop.workflow_run('w', '{"DAY":"monday"}')`)
	for step, want := range map[string]string{
		"all":  `big-monday 7 {"DAY": "monday", "AS_IS": "${DAY}"} {db:monday=exclusive,disk:1=shared} 3 true 01:30:00 run`,
		"once": "- 0 - - 1 true - fail",
		"none": "- 0 - - 1 - - fail",
	} {
		got := e.one(`select concat_ws(' ', coalesce(run_on, '-'), priority, coalesce(vars::text, '-'), coalesce(locks::text, '-'),
			max_attempts, coalesce(own_attempts::text, '-'), coalesce(timeout::text, '-'), on_failure)
			from bellhop.jobqueue where step = $1`, step)
		if got != want {
			t.Errorf("job of step %s: %s, want %s", step, got, want)
		}
	}
}
