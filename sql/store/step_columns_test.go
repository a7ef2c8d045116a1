package store

import (
	"encoding/json"
	"maps"
	"reflect"
	"testing"

	"bellhop/scheduler/grammar"
	"bellhop/sql/view"
)

// Each field of a step is the column of its job, by the examples of the grammar.
func TestWorkflow_EachFieldOfAStepIsAColumnOfItsJob(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	step := map[string]any{"name": "all"}
	for _, f := range grammar.Step.Fields {
		if f.Name != "name" && f.Name != "msq" && f.Name != "after" { // beside args there is no query
			step[f.Name] = grammar.Submission.Field(f.Name).Sample()
		}
	}
	text, err := json.Marshal(step)
	if err != nil {
		t.Fatal(err)
	}
	e.apply("w", "null", "["+string(text)+"]")
	e.exec("select bellhop.workflow_run('w')")
	delete(step, "name")
	text, _ = json.Marshal(step)
	if differ := e.one(`select string_agg(format('%s: %s, want %s', k, is_row -> k, want -> k), e'\n')
		from (select to_jsonb(j) as is_row, to_jsonb(jsonb_populate_record(j, $1::text::jsonb)) as want from bellhop.jobqueue j where step = 'all') x,
		     jsonb_object_keys($1::text::jsonb) k
		where is_row -> k is distinct from want -> k`, string(text)); differ != "" {
		t.Errorf("%s", differ)
	}
	if n := e.one("select count(*) from bellhop.jobqueue where step = 'all'"); n != "1" {
		t.Errorf("%s jobs of the step", n)
	}
}

// What a job is submitted with, its readers see.
func TestJobRow_HasEachColumnOfASubmission(t *testing.T) {
	t.Parallel()
	seen := grammar.ByName(reflect.ValueOf(view.JobRow{}))
	maps.Copy(seen, grammar.ByName(reflect.ValueOf(view.PayloadRow{})))
	for _, f := range grammar.Submission.Fields {
		if _, is := seen[f.Name]; !is && !f.Call {
			t.Errorf("neither view.JobRow nor view.PayloadRow has %s", f.Name)
		}
	}
}

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
