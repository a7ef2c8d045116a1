package page

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"bellhop/web/operation"
)

// What matches a filter is planned, shown, started, stopped and undone by forms; nothing changes before the start.
func TestOperations_FromAFilterToUndone(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	worker := operation.NewWorker(s.visitors, s.pages.Log)
	work := func() {
		if err := worker.Once(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	s.exec(`insert into bellhop.jobqueue (type, key) select 'mail', 'order.' || g from generate_series(1, 30) g`)
	s.exec(`insert into bellhop.jobqueue (type, key) values ('mail', 'bill.1')`)
	held := func() string { return s.one(`select count(*)::text from bellhop.jobqueue where state = 'held'`) }

	page := s.get(http.StatusOK, "/jobs?key=order.*&type=mail")
	if !strings.Contains(page, `name="key" value="order.*"`) || !strings.Contains(page, "All matching jobs…") {
		t.Errorf("the page of jobs offers no order for all matching jobs:\n%s", page)
	}
	to := s.post(http.StatusSeeOther, "/do/plan", url.Values{"verb": {"hold"}, "key": {"order.*"}, "type": {"mail"}})
	path, _, _ := strings.Cut(to, "?")
	if path != "/operations/1" || held() != "0" {
		t.Fatalf("it leads to %s, and %s jobs are held", to, held())
	}
	for _, want := range []string{"30 jobs would be changed", "nothing has changed yet", "key begins with “order.”", "order.20", `action="/do/start"`,
		"by ann <small>as bellhop_operator</small>"} {
		if page = s.get(http.StatusOK, to); !strings.Contains(page, want) {
			t.Errorf("the plan does not say %q", want)
		}
	}
	s.exec(`insert into bellhop.jobqueue (type, key) values ('mail', 'order.later')`)
	order := url.Values{"operation": {"1"}, "back": {path}}
	s.post(http.StatusSeeOther, "/do/start", order)
	work()
	if page = s.get(http.StatusOK, path); held() != "30" || !strings.Contains(page, "30 of 30 jobs done") {
		t.Errorf("%s jobs are held", held())
	}
	s.post(http.StatusSeeOther, "/do/undo", order)
	if page = s.get(http.StatusOK, path); held() != "0" || !strings.Contains(page, "30 made what they were") {
		t.Errorf("%s jobs are held still", held())
	}
	// Undone once more is refused, in words.
	s.post(http.StatusConflict, "/do/undo", order)
	s.post(http.StatusNotFound, "/do/start", url.Values{"operation": {"77"}})
	s.post(http.StatusBadRequest, "/do/plan", url.Values{"verb": {"priority"}, "priority": {"soon"}, "all": {"true"}})
	s.post(http.StatusBadRequest, "/do/plan", url.Values{"verb": {"priority"}, "priority": {"99"}, "all": {"true"}})
	s.post(http.StatusConflict, "/do/plan", url.Values{"verb": {"prune"}, "all": {"true"}})

	// What has been discarded is never carried out by itself.
	to = s.post(http.StatusSeeOther, "/do/plan", url.Values{"verb": {"cancel"}, "all": {"true"}})
	path, _, _ = strings.Cut(to, "?")
	id := url.Values{"operation": {strings.TrimPrefix(path, "/operations/")}}
	s.post(http.StatusSeeOther, "/do/stop", id)
	work()
	if n := s.one(`select count(*)::text from bellhop.jobqueue where state = 'cancelled'`); n != "0" {
		t.Errorf("%s jobs are cancelled", n)
	}
	s.who = aReader
	s.post(http.StatusForbidden, "/do/start", id)
	s.post(http.StatusForbidden, "/do/plan", url.Values{"verb": {"cancel"}, "all": {"true"}})
	if page := s.get(http.StatusOK, "/operations"); !strings.Contains(page, "key begins with “order.”") ||
		strings.Contains(page, "<form") && strings.Contains(page, `action="/do/`) {
		t.Error("a reader does not see what is ordered, or sees a button")
	}
}

// A plan counts the jobs besides that need those it is for, by way of others too, and says what becomes of them.
func TestOperations_CountWhoNeedsThem(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	s.exec(`select bellhop.submit('load', 'a')`)
	s.exec(`select bellhop.submit('load', 'b', after => '{1}')`)
	s.exec(`select bellhop.submit('ship', 'c', after => '{2}')`)
	s.exec(`select bellhop.submit('ship', 'd', after => '{3}')`)
	s.exec(`select bellhop.submit('tidy', 'e', after => '{1}', on_failure => 'run')`)
	s.exec(`select bellhop.submit('tidy', 'f', after => '{3}', on_failure => 'block')`)
	s.exec(`select bellhop.submit('tidy', 'stands apart')`)
	for verb, want := range map[string]string{
		"cancel": "4 other jobs need them: 2 would fail, 1 would stay blocked until they succeed, 1 would still run.",
		"hold":   "4 other jobs wait for them.",
	} {
		to := s.post(http.StatusSeeOther, "/do/plan", url.Values{"verb": {verb}, "type": {"load"}})
		page := s.get(http.StatusOK, to)
		if !strings.Contains(page, "2 jobs would be changed") || !strings.Contains(page, want) {
			t.Errorf("the plan of %s does not say %q:\n%s", verb, want, page)
		}
	}
	to := s.post(http.StatusSeeOther, "/do/plan", url.Values{"verb": {"cancel"}, "key": {"none"}})
	if page := s.get(http.StatusOK, to); strings.Contains(page, "other job") {
		t.Errorf("others are told of where no job is meant:\n%s", page)
	}
}

// A group of failures is tried again by an operation, and exactly that: also one of several types, of numbers in
// hexadecimal, and of many lines.
func TestFailures_AGroupLeadsToAPlan(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	s.exec(`insert into bellhop.jobqueue (type, state, attempt, started_at, ended_at, error)
		select 'mail', 'failed', 1, now(), now() - interval '1 h', 'no block 3f' || g || E'a\nat line ' || g from generate_series(1, 12) g`)
	s.exec(`insert into bellhop.jobqueue (type, state, attempt, started_at, ended_at, error)
		values ('mail', 'failed', 1, now(), now() - interval '3 h', 'no block 7'), ('mail', 'failed', 1, now(), now(), 'no block here'),
		       ('post', 'failed', 1, now(), now(), 'no block 8'), ('mail', 'failed', 1, now(), now(), null)`)
	for query, want := range map[string]string{"": "14", "?since=2h": "13"} {
		for _, form := range s.forms("/failures"+query, "plan") {
			if form.Get("failure") != "no+block+%23" || !slices.Equal(form["type"], []string{"mail", "post"}) {
				continue
			}
			page := s.get(http.StatusOK, s.post(http.StatusSeeOther, "/do/plan", form))
			if want += " jobs would be changed"; !strings.Contains(page, want) || !strings.Contains(page, "error like “no block #”") {
				t.Errorf("the plan of %s does not say %q:\n%s", query, want, page)
			}
			want = ""
		}
		if want != "" {
			t.Errorf("/failures%s has no such group", query)
		}
	}
	form := url.Values{"verb": {"retry"}, "type": {"mail"}, "failure": {""}}
	if page := s.get(http.StatusOK, s.post(http.StatusSeeOther, "/do/plan", form)); !strings.Contains(page, "1 job would be") {
		t.Errorf("what failed without a word is not alone:\n%s", page)
	}
}

// A job that never ran, since it needed a failed one, is no failure of its own: it is counted behind that one.
func TestFailures_ConsequencesStandBehindTheirCause(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	s.exec(`insert into bellhop.jobqueue (type, key) values ('bill', 'cause')`)
	s.exec(`select bellhop.submit('ship', after_keys => '{cause}') from generate_series(1, 3)`)
	s.exec(`update bellhop.jobqueue set state = 'running', attempt = 1, fence = 1, started_at = now() where key = 'cause'`)
	s.exec(`update bellhop.jobqueue set state = 'failed', ended_at = now(), error = 'no paper' where key = 'cause'`)
	s.exec(`select bellhop.ended(array(select id from bellhop.jobqueue where key = 'cause'))`)
	page := s.get(http.StatusOK, "/failures")
	if !strings.Contains(page, "+3 that needed it and never ran") || strings.Contains(page, "which it needs") {
		t.Errorf("consequences stand beside their cause:\n%s", page)
	}
}

// A part of a filter that means nothing is refused, and not left out: an order without it would be for more jobs, or
// for all.
func TestOperations_RefuseAFilterThatMeansNothing(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	s.exec(`insert into bellhop.jobqueue (type, key) values ('mail', 'one'), ('mail', null)`)
	for _, form := range []url.Values{
		{}, {"all": {"yes"}}, {"run": {"x"}}, {"run": {"x"}, "type": {"mail"}}, {"run": {"-1"}}, {"state": {"nothing"}}, {"state": {"ready", ""}},
		{"type": {" , "}}, {"type": {" , "}, "key": {"one"}}, {"failure": {"%zz"}, "type": {"mail"}}, {"failure": {"x"}}, {"key": {" "}}, {"error": {""}},
	} {
		form.Set("verb", "hold")
		s.post(http.StatusBadRequest, "/do/plan", form)
	}
	if n := s.one("select count(*)::text from bellhop.operation"); n != "0" {
		t.Errorf("%s were planned", n)
	}
	for path, want := range map[string]string{"/jobs": "2 jobs would", "/jobs?key=*": "2 jobs would", "/jobs?key=o*&run=": "1 job would"} {
		form := s.forms(path, "plan")[0]
		form.Set("verb", "hold")
		if page := s.get(http.StatusOK, s.post(http.StatusSeeOther, "/do/plan", form)); !strings.Contains(page, want) {
			t.Errorf("%s: the plan does not say %q", path, want)
		}
	}
}
