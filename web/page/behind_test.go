package page

import (
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"bellhop/scheduler"
	"bellhop/sql/view"
)

// From a step of a graph on, all that is over is done again, in the order of what it needs; the rest is left alone.
func TestBehind_RetryFromHere(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	// 1 → 2 → 4 → 5, and 3 → 4; 6 stands apart; 5 was made before what it needs, as batches are.
	s.exec(`insert into bellhop.jobqueue (type) select 'load' from generate_series(1, 6)`)
	s.exec(`insert into bellhop.dependency (job, needs) values (2, 1), (4, 2), (4, 3), (5, 4)`)
	s.exec(`select bellhop.submit('first', 'of a batch')`) // 7
	s.exec(`insert into bellhop.dependency (job, needs) values (5, 7), (7, 2)`)
	states := func() string {
		return s.one(`select string_agg(left(state, 2), ' ' order by id) from bellhop.jobqueue`)
	}
	end := func(id int, state string) {
		s.exec(`update bellhop.jobqueue set state = $2, attempt = attempt + 1, started_at = now(), ended_at = now() where id = $1`, id, state)
		s.exec(`select bellhop.ended(array[$1::bigint])`, id)
	}
	all := func() {
		s.exec(`select bellhop.resolve(array(select id from bellhop.jobqueue where state = 'blocked'), true)`)
	}
	all()
	for _, id := range []int{1, 2, 3, 7} {
		end(id, "succeeded")
	}
	end(4, "failed")
	if got := states(); got != "su su su fa fa re su" {
		t.Fatalf("they are %s", got)
	}
	page := s.get(http.StatusOK, "/jobs/2")
	if !strings.Contains(page, `action="/do/behind"`) || strings.Contains(s.get(http.StatusOK, "/jobs/5"), `action="/do/behind"`) {
		t.Errorf("it is not offered where somebody is behind, or where nobody is:\n%s", page)
	}
	if !strings.Contains(page, "Retry from here (&#43;3 dependents)<") {
		t.Errorf("it does not say how many follow:\n%s", page)
	}
	to := s.post(http.StatusSeeOther, "/do/behind", url.Values{"id": {"2"}, "back": {"/jobs/2"}})
	if page = s.get(http.StatusOK, to); !strings.Contains(page, "4 jobs were to be tried again") {
		t.Errorf("it does not say how many:\n%s", page)
	}
	all()
	if got := states(); got != "su re su bl bl re bl" {
		t.Fatalf("from 2 on they are %s", got)
	}
	end(2, "succeeded")
	all()
	if got := states(); got != "su su su re bl re re" {
		t.Fatalf("after 2 they are %s", got)
	}
	// 4 may begin with what 1 gave by way of 2: 1 is not done again under it.
	if page = s.get(http.StatusOK, "/jobs/1"); !strings.Contains(page, "Retry from here: not now<") ||
		!strings.Contains(page, "would be refused: job 4 is ready") {
		t.Errorf("it does not say that it would be refused:\n%s", page)
	}
	s.post(http.StatusConflict, "/do/behind", url.Values{"id": {"1"}})
	end(4, "succeeded")
	end(7, "succeeded")
	all()
	if got := states(); got != "su su su su re re su" {
		t.Errorf("at the end they are %s", got)
	}
	s.post(http.StatusConflict, "/do/behind", url.Values{"id": {"6"}}) // not over
	s.post(http.StatusNotFound, "/do/behind", url.Values{"id": {"99"}})
	s.who = aReader
	s.post(http.StatusForbidden, "/do/behind", url.Values{"id": {"3"}})
}

// A step of a run says how many jobs that are over come with it: each once, whichever way
// leads there, and none that only ends the run.
func TestFollowers_EachJobThatIsOverOnce(t *testing.T) {
	t.Parallel()
	const over, waits = scheduler.Succeeded, scheduler.Blocked
	nodes := []view.Node{{ID: 1, State: over}, {ID: 2, State: over}, {ID: 3, State: scheduler.Failed},
		{ID: 4, State: over}, {ID: 5, State: waits}, {ID: 6, State: over}}
	var edges []view.Dependency
	for _, e := range [][2]scheduler.JobID{{2, 1}, {3, 1}, {4, 2}, {4, 3}, {5, 4}, {6, 4}} {
		edges = append(edges, view.Dependency{Job: e[0], Needs: e[1]})
	}
	got := followers(view.Graph{Nodes: nodes, Edges: edges}, map[scheduler.JobID]bool{6: true})
	if want := map[scheduler.JobID]int64{1: 3, 2: 1, 3: 1}; !maps.Equal(got, want) {
		t.Errorf("they are %v, not %v", got, want)
	}
}
