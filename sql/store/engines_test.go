package store

import (
	"slices"
	"testing"
	"time"

	"bellhop/scheduler"
	"bellhop/scheduler/engine"
)

// between claims a job, submits it to an engine, and gives it back, as one whose watcher stops: it runs there, and is
// ready.
func (e *env) between(engines *Engines) scheduler.Claim {
	e.Helper()
	claim := e.running().Claim
	if _, err := engines.Record(e.Context(), e.me, "far", []scheduler.Claim{claim}); err != nil {
		e.Fatal(err)
	}
	row := engine.Row{Job: int64(claim.Job), Fence: int64(claim.Fence),
		Tag: engine.Tag{Name: claim.Tag(), State: engine.TagRunning}}
	if err := engines.Save(e.Context(), e.me, []engine.Row{row}, time.Now()); err != nil {
		e.Fatal(err)
	}
	e.mustWrite(scheduler.Record{Kind: scheduler.RecordRequeue, Claim: claim, Attempt: 1})
	e.want(claim.Job, "state", "ready")
	return claim
}

// What a job had on an engine is watched by whoever comes, as long as it is what the job is to do. What was ended, or
// changed, while nobody watched it is not: it is submitted anew, and what is there is killed.
func TestEngines_WhatAJobWasToDoBeforeIsNotWatched(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		changes []string
		watched bool
	}{
		"nothing":               {nil, true},
		"another priority":      {[]string{"bellhop.edit($1, priority => 3)"}, true},
		"held and released":     {[]string{"bellhop.edit($1, hold => true)", "bellhop.edit($1, hold => false)"}, true},
		"cancelled and retried": {[]string{"bellhop.cancel($1)", "bellhop.retry($1)"}, false},
		"killed and retried":    {[]string{"bellhop.killjob($1)", "bellhop.retry($1)"}, false},
		"other args":            {[]string{"bellhop.edit($1, args => 'other')"}, false},
		"other vars":            {[]string{`bellhop.edit($1, vars => '{"A": "1"}')`}, false},
		"replaced":              {[]string{"bellhop.submit('cat', 'other', key => 'k', replace => true) = $1"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := openEnv(t)
			engines := desk(e, NewEngines)
			was := e.between(engines)
			e.exec("update bellhop.jobqueue set key = 'k' where id = $1", int64(was.Job))
			for _, change := range test.changes {
				e.exec("select "+change, int64(was.Job))
			}
			jobs := e.claim(demand(10))
			if len(jobs) != 1 || jobs[0].Claim.Job != was.Job {
				t.Fatalf("claimed %v", ids(jobs))
			}
			is := jobs[0].Claim
			found, err := engines.Look(t.Context(), e.me, []scheduler.Claim{is})
			if err != nil {
				t.Fatal(err)
			}
			if got := found[is].Name; (got == was.Tag()) != test.watched {
				t.Errorf("it has tag %q", got)
			}
			if test.watched {
				return
			}
			got, err := engines.Record(t.Context(), e.me, "far", []scheduler.Claim{is})
			if err != nil || !slices.Equal(got, []scheduler.Claim{is}) {
				t.Errorf("recorded %v, %v", got, err)
			}
			left, err := engines.Sweep(t.Context(), e.me, "cat")
			if err != nil || len(left) != 1 || left[0].Tag != was.Tag() {
				t.Errorf("to be killed are %v, %v", left, err)
			}
		})
	}
}
