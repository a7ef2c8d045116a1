package page

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"bellhop/scheduler"
	"bellhop/sql/view"
)

// Steps are placed on the time of their run; one that is slower than it was before stands out, and one that never ran
// has no place.
func TestStepRows_PlaceStepsOnTheTimeOfTheRun(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 11, 25, 2, 0, 0, 0, time.UTC)
	at := func(s int) *time.Time { t := from.Add(time.Duration(s) * time.Second); return &t }
	name := func(s string) *string { return &s }
	rows := stepRows([]view.StepRow{
		{Step: name("load"), Job: 1, State: scheduler.Succeeded, Attempt: 1, StartedAt: at(0), EndedAt: at(30)},
		{Step: name("check"), Job: 2, State: scheduler.Running, Attempt: 1, StartedAt: at(30)},
		{Step: name("ship"), Job: 3, State: scheduler.Failed},
		{Step: name("bill"), Job: 4, State: scheduler.Succeeded, Attempt: 2, StartedAt: at(0), AttemptAt: at(45), EndedAt: at(60)},
		{Step: name("tell"), Job: 5, State: scheduler.Failed, Attempt: 1, StartedAt: at(0), EndedAt: at(60)},
	}, map[scheduler.JobID]bool{5: true}, map[string]float64{"load": 29, "check": 5}, from.Add(60*time.Second))
	if r := rows[0]; r.X != 0 || r.W != 500 || r.Slow || r.Usual != "29 s" {
		t.Errorf("load: %+v", r)
	}
	if r := rows[1]; r.X != 500 || r.W != 500 || !r.Slow {
		t.Errorf("check: %+v", r)
	}
	if r := rows[2]; r.W != 0 || !r.NotRun {
		t.Errorf("ship: %+v", r)
	}
	if r := rows[3]; r.X != 750 || r.W != 250 || r.Took() != "15 s" {
		t.Errorf("bill, at its second attempt: %+v", r)
	}
	if r := rows[4]; r.W != 0 || !r.NotRun || r.Took() != "" || r.StartedAt != nil {
		t.Errorf("tell, which did not run again: %+v", r)
	}
}

// A job that failed since one that it needs did is told from the cause.
func TestNotRun_TheCauseIsNotAVictim(t *testing.T) {
	t.Parallel()
	one := 1
	g := view.Graph{Nodes: []view.Node{{ID: 1, State: "failed", ExitCode: &one}, {ID: 2, State: "failed"}, {ID: 3, State: "failed"},
		{ID: 4, State: "blocked"}, {ID: 5, State: "failed", ExitCode: &one}}, Edges: []view.Dependency{
		{Job: 2, Needs: 1}, {Job: 3, Needs: 2}, {Job: 4, Needs: 2}, {Job: 5, Needs: 4, Met: true}}}
	if v := notRun(g); v[1] || !v[2] || !v[3] || v[4] || v[5] {
		t.Errorf("not run: %v", v)
	}
	s := draw(g, 1, nil)
	var states []string
	for _, n := range s.Nodes {
		states = append(states, n.State)
	}
	if got := strings.Join(states, " "); got != "failed not-run not-run blocked failed" {
		t.Errorf("drawn: %s", got)
	}
}

// A run's page says which step failed, what it said, and how long it usually takes; the grid has the runs before.
func TestRun_TheCauseStandsOut(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	s.exec(`select bellhop.workflow_apply('{"workflow": "nightly", "steps": [{"name": "load", "type": "etl"}, {"name": "ship", "type": "mail", "after": ["load"]}]}')`)
	pass := func(run int) { // what only begins or ends a run is passed by an instance
		s.exec(`update bellhop.jobqueue set state = 'running', attempt = 1, fence = 1, started_at = now() where run = $1 and step is null and state = 'ready'`, run)
		s.exec(`update bellhop.jobqueue set state = 'succeeded', ended_at = now() where run = $1 and step is null and state = 'running'`, run)
		s.exec(`select bellhop.ended(array(select id from bellhop.jobqueue where run = $1 and step is null))`, run)
	}
	for run := 1; run <= 3; run++ {
		s.exec(`select bellhop.workflow_run('nightly')`)
		end := func(step, state string) {
			s.exec(`update bellhop.jobqueue set state = 'running', attempt = 1, fence = 1, started_at = now() - interval '50 s' where run = $1 and step = $2`, run, step)
			s.exec(`update bellhop.jobqueue set state = $3, ended_at = now() - interval '20 s', error = case when $3 = 'failed' then 'no ftp' end,
				exit_code = case when $3 = 'failed' then 3 end where run = $1 and step = $2`, run, step, state)
			s.exec(`select bellhop.ended(array(select id from bellhop.jobqueue where run = $1 and step = $2))`, run, step)
		}
		if run < 3 {
			end("load", "succeeded")
			end("ship", "succeeded")
			pass(run)
		} else {
			end("load", "failed")
		}
	}
	s.exec(`insert into bellhop.log (job, attempt, level, line) select id, 1, 'err', 'connect: ' || g || ' refused' from bellhop.jobqueue, generate_series(1, 20) g where run = 3 and step = 'load'`)
	page := s.get(http.StatusOK, "/runs/3")
	for _, want := range []string{"2 of 2 steps finished", "Why it failed", "connect: 20 refused", ">not run<", `<td class="n wide-only">30 s`, "(usually "} {
		if !strings.Contains(page, want) {
			t.Errorf("the run's page has no %q:\n%s", want, page)
		}
	}
	if strings.Contains(page, "connect: 12 refused") {
		t.Error("it has more than the last lines")
	}
	grid := s.get(http.StatusOK, "/workflows/nightly")
	for _, want := range []string{
		"run 3: load failed", "run 3: ship not-run", "run 1: ship succeeded", "run 2 succeeded",
	} {
		if !strings.Contains(grid, want) {
			t.Errorf("the grid has no %q", want)
		}
	}
	s.who = aReader
	if page := s.get(http.StatusOK, "/runs/3"); strings.Contains(page, "refused") {
		t.Error("a reader sees what a step said")
	}
}
