package page

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

var hidden = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)

// forms are the forms of a page that order something, as they would be sent.
func (s *site) forms(path, verb string) (list []url.Values) {
	s.Helper()
	parts := strings.Split(s.get(http.StatusOK, path), `<form method="post" action="/do/`+verb+`">`)
	for _, part := range parts[1:] {
		inside, _, _ := strings.Cut(part, "</form>")
		form := url.Values{}
		for _, field := range hidden.FindAllStringSubmatch(inside, -1) {
			form.Add(field[1], html.UnescapeString(field[2]))
		}
		list = append(list, form)
	}
	return list
}

// press sends the last form of a page that orders this: an operator's works and leads back; a reader has none, and is
// refused when he sends the operator's.
func (s *site) press(path, verb, says string) {
	s.Helper()
	list := s.forms(path, verb)
	if len(list) == 0 || list[0].Get("form_token") != anOperator.Form {
		s.Fatalf("%s has no form to %s: %v", path, verb, list)
	}
	form := list[len(list)-1]
	s.who = aReader
	if list := s.forms(path, verb); len(list) > 0 {
		s.Errorf("%s: a reader has a form to %s", path, verb)
	}
	const rows = `select concat((select count(*) from bellhop.run), ' ', (select count(*) from bellhop.workflow_past), ' ',
		(select count(*) from bellhop.workflow where active), ' ', (select count(*) from bellhop.paused), ' ',
		(select string_agg(state, ' ' order by id) from bellhop.jobqueue))`
	before := s.one(rows)
	s.post(http.StatusForbidden, "/do/"+verb, form)
	if after := s.one(rows); after != before {
		s.Errorf("%s: a reader has made %q of %q", verb, after, before)
	}
	s.who = anOperator
	to := s.post(http.StatusSeeOther, "/do/"+verb, form)
	at, _, _ := strings.Cut(to, "?")
	if at != form.Get("back") {
		s.Errorf("%s on %s leads to %s", verb, path, to)
	}
	if body := s.get(http.StatusOK, to); !strings.Contains(body, "Done: "+says+".") {
		s.Errorf("%s: %s does not say %q", verb, to, says)
	}
}

// The buttons of workflows and their runs, as they stand on the page.
func TestPages_ButtonsOfWorkflows(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	apply := func(args string) {
		s.exec(`select bellhop.workflow_apply(jsonb_build_object('workflow', 'night-2.x', 'steps',
			jsonb_build_array(jsonb_build_object('name', 'one', 'type', 'sh', 'args', $1::text))))`, args)
	}
	apply("first")
	apply("second")
	is := func(want, query string) {
		t.Helper()
		if got := s.one(query); got != want {
			t.Errorf("%s: %s, not %s", query, got, want)
		}
	}
	const of, active = "/workflows/night-2.x", "select active::text from bellhop.workflow"
	if list := s.forms("/workflows", "deactivate"); len(list) > 0 {
		t.Error("the list of workflows deactivates one beside Run")
	}
	for _, path := range []string{"/workflows", of} { // both activate
		s.press(of, "deactivate", "deactivated")
		is("false", active)
		s.press(path, "activate", "activated")
		is("true", active)
	}
	s.press("/workflows", "run", "a run was started")
	s.press(of, "run", "a run was started")
	is("2", "select count(*)::text from bellhop.run")
	is("second", "select args from bellhop.jobqueue where step = 'one' and run = 1")

	s.press(of, "revert", "the older version is in force again")
	is("first", "select definition -> 'steps' -> 0 ->> 'args' from bellhop.workflow")
	s.press("/workflows", "run", "a run was started")
	is("first", "select args from bellhop.jobqueue where step = 'one' and run = 3")

	if list := s.forms("/runs/1", "rerun"); len(list) > 0 {
		t.Error("a run that goes on can be made to go on")
	}
	s.exec(`update bellhop.jobqueue set state = 'running', attempt = 1, fence = 1, started_at = now() where run = 1 and step = 'one'`)
	s.exec(`update bellhop.jobqueue set state = 'failed', ended_at = now(), error = 'no paper' where run = 1 and step = 'one'`)
	s.exec(`select bellhop.ended(array(select id from bellhop.jobqueue where run = 1 and step = 'one'))`)
	is("failed", "select state from bellhop.run where id = 1")
	if body := s.get(http.StatusOK, "/runs/1"); !strings.Contains(body, `<span class="error">no paper</span>`) {
		t.Error("the page of a run does not show what its step said")
	} else if !strings.Contains(body, ">Retry from here<") || !strings.Contains(body, "1 of 1 step finished") {
		t.Errorf("what only ends a run counts as one that follows:\n%s", body)
	}
	s.post(http.StatusConflict, "/do/rerun", s.forms("/runs/1", "rerun")[0]) // others are open
	s.exec("select bellhop.cancel(id) from bellhop.jobqueue where run > 1 and step = 'one'")
	s.press("/runs/1", "rerun", "it goes on at the failed step")
	is("ready", "select state from bellhop.jobqueue where run = 1 and step = 'one'")
}

// What is paused, all or a type, goes on by the button that says so.
func TestPages_ButtonsOfWhatIsPaused(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	s.exec(`insert into bellhop.jobqueue (type) values ('mail')`)
	s.exec(`insert into bellhop.paused (type, paused_by) values ('mail', 'ann')`)
	for _, path := range []string{"/", "/hosts"} {
		if len(s.forms(path, "resume")) == 0 {
			continue
		}
		s.press(path, "resume", "resumed")
		if n := s.one("select count(*)::text from bellhop.paused"); n != "0" {
			t.Errorf("%s: %s types are paused", path, n)
		}
		return
	}
	t.Error("no page has a button to resume")
}

// What an order came to is what is said of it: of a job that runs, that it is asked to stop.
func TestPages_SayWhatAnOrderCameTo(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	s.exec(`insert into bellhop.jobqueue (type) values ('mail'), ('mail'), ('mail')`)
	s.exec(`update bellhop.jobqueue set state = 'running', attempt = 1, fence = 1, started_at = now() where id = 1`)
	for _, c := range []struct{ verb, id, says string }{
		{"cancel", "1", "1 job was cancelled, or asked to stop."},
		{"kill", "1", "1 job was cancelled, or is being killed."},
		{"cancel", "2", "1 job was cancelled, or asked to stop."},
		{"cancel", "2", "Nothing was changed"},
		{"hold", "1", "Nothing was changed"},
		{"release", "1", "Nothing was changed"},
		{"priority", "1", "Nothing was changed"},
		{"priority", "2", "Nothing was changed"},
		{"release", "3", "Nothing was changed"},
		{"priority", "3", "1 job was given that priority."},
		{"hold", "3", "1 job was held."},
		{"hold", "3", "Nothing was changed"},
		{"release", "3", "1 job was released."},
	} {
		form := url.Values{"id": {c.id}, "back": {"/jobs/" + c.id}, "priority": {" 5 "}}
		to := s.post(http.StatusSeeOther, "/do/"+c.verb, form)
		if page := s.get(http.StatusOK, to); !strings.Contains(page, c.says) {
			t.Errorf("%s of job %s does not say %q", c.verb, c.id, c.says)
		}
	}
	s.post(http.StatusBadRequest, "/do/priority", url.Values{"id": {"3"}, "priority": {"abc"}})
}
