package page

import (
	"context"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/jackc/pgx/v5"

	"bellhop/pgdev/pgtest"
	"bellhop/scheduler/history"
	"bellhop/sql/migrate/migrated"
	"bellhop/sql/view"
	"bellhop/web"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// site is the pages on a database of the test's own; whoever asks is the role in who.
type site struct {
	testing.TB
	*httptest.Server
	pages    *Pages
	conn     *pgx.Conn
	who      web.Identity
	visitors *view.Visitors
}

var (
	aReader    = web.Identity{Role: web.Reader, Via: "loopback"}
	anOperator = web.Identity{Name: "ann", Role: "bellhop_operator", Via: "session", Form: "the form's token"}
)

func openSite(t testing.TB) *site {
	t.Helper()
	at := migrated.URL(t)
	conn, err := pgx.Connect(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	visitors, err := view.NewVisitors(at)
	if err != nil {
		t.Fatal(err)
	}
	visitors.Actor = web.Actor
	s := &site{TB: t, conn: conn, who: anOperator, visitors: visitors}
	s.pages = New(Config{Visitors: visitors, Version: "v", Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.pages.ServeHTTP(w, r.WithContext(web.As(r.Context(), s.who)))
	}))
	t.Cleanup(func() {
		s.pages.Close()
		s.Server.Close()
		visitors.Close()
	})
	return s
}

func (s *site) exec(text string, args ...any) {
	s.Helper()
	if _, err := s.conn.Exec(s.Context(), text, args...); err != nil {
		s.Fatal(err)
	}
}

func (s *site) one(text string, args ...any) (answer string) {
	s.Helper()
	if err := s.conn.QueryRow(s.Context(), text, args...).Scan(&answer); err != nil {
		s.Fatal(err)
	}
	return answer
}

// get gives a page; a status that is not wanted is an error.
func (s *site) get(status int, path string) string {
	s.Helper()
	r, err := http.Get(s.URL + path)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.Fatal(err)
	}
	if r.StatusCode != status {
		s.Errorf("%s: %d, not %d\n%.2000s", path, r.StatusCode, status, body)
	}
	return string(body)
}

// post sends a form, and gives where it leads.
func (s *site) post(status int, path string, form url.Values) string {
	s.Helper()
	c := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r, err := c.PostForm(s.URL+path, form)
	if err != nil {
		s.Fatal(err)
	}
	_ = r.Body.Close()
	if r.StatusCode != status {
		s.Errorf("%s: %d, not %d", path, r.StatusCode, status)
	}
	return r.Header.Get("Location")
}

// hostile is what an app, an agent or a user may write where text is shown.
const hostile = `<img src=x onerror=alert(1)></script><script>alert(2)</script>"'` + "`" + "\x1b[31mred\u202egnp.exe\u2066\u0085\u007f{{.}}"

// fill makes some of everything, with hostile text wherever text may stand.
func (s *site) fill() {
	s.Helper()
	migrated.Fill(s, s.conn, hostile)
	s.exec(`insert into bellhop.log (job, attempt, level, line) values (2, 1, 'out', repeat('x', 1048576))`)
}

var everyPage = []string{
	"/",
	"/jobs",
	"/jobs?state=failed&state=succeeded&error=x",
	"/jobs/1",
	"/jobs/2",
	"/jobs/3",
	"/jobs/4",
	"/jobs/5",
	"/jobs/1/graph",
	"/jobs/4/items",
	"/jobs?order=longest&each=yes",
	"/types",
	"/types/mail",
	"/failures",
	"/locks",
	"/hosts",
	"/workflows",
	"/workflows/nightly",
	"/runs/1",
	"/notifications",
	"/notifications?rule=1",
	"/attachments",
	"/operations",
	"/operations/1",
	"/operations/2",
	"/system",
	"/prune?older=0s&state=failed",
}

// Whatever stands in a field is text, on every page and for every role, and no page is larger than it may be.
func TestPages_ShowHostileTextAsText(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	s.fill()
	for _, who := range []web.Identity{aReader, anOperator} {
		s.who = who
		for _, path := range everyPage {
			body := s.get(http.StatusOK, path)
			for _, bad := range []string{"<img src=x", "<script>alert", "\x1b", "\u202e", "\u2066", "\u0085", "\u007f",
				"style=", "onclick="} {
				if strings.Contains(body, bad) {
					t.Errorf("%s as %s: %q is in it", path, who.Role, bad)
				}
			}
			for _, c := range body {
				if c != '\n' && (unicode.IsControl(c) || unicode.Is(unicode.Cf, c)) {
					t.Errorf("%s as %s: %U is in it", path, who.Role, c)
					break
				}
			}
			if strings.Contains(body, s.pages.form) || strings.Contains(body, s.pages.root) {
				t.Errorf("%s as %s: the place of a form's token, or of the prefix, is in it", path, who.Role)
			}
			if len(body) > 100_000 {
				t.Errorf("%s as %s: %d bytes", path, who.Role, len(body))
			}
		}
	}
}

// A megabyte in every field at once makes no page longer than one can load, and none slow.
func TestPages_CutWhatIsLong(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	// One of these is longer than a page may be. Longer ones take PostgreSQL seconds on a busy machine.
	migrated.Fill(s, s.conn, strings.Repeat(`<long "x">&`, 30_000))
	for _, who := range []web.Identity{aReader, anOperator} {
		s.who = who
		for _, path := range everyPage {
			if body := s.get(http.StatusOK, path); len(body) > 300_000 {
				t.Errorf("%s as %s: %d bytes", path, who.Role, len(body))
			}
		}
	}
}

// What stands on a page that is read in a transaction READ ONLY is about the server, and not about that transaction.
func TestPages_SystemFindsNothingWhereAllIsWell(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	body := s.get(http.StatusOK, "/system")
	for _, wrong := range []string{"it takes no writes", "0 of "} {
		if strings.Contains(body, wrong) {
			t.Errorf("it says %q of a server that does", wrong)
		}
	}
}

// What nobody works on is left out of when the queue will be empty.
func TestOverview_EmptyWhenWhatIsServedIsDone(t *testing.T) {
	t.Parallel()
	now := time.Now().Truncate(time.Minute).Add(30 * time.Second)
	last := []view.HistoryRow{{Minute: now.Truncate(time.Minute).Add(-time.Minute),
		Counts: history.Counts{Succeeded: 120}}}
	waits := []waiting{
		{WaitRow: view.WaitRow{QueueRow: view.QueueRow{Type: "mail", Jobs: 60}}},
		{WaitRow: view.WaitRow{QueueRow: view.QueueRow{Type: "nobody", Jobs: 5000}}},
		{WaitRow: view.WaitRow{QueueRow: view.QueueRow{Type: "paused", Jobs: 5000}}},
		{WaitRow: view.WaitRow{QueueRow: view.QueueRow{Type: "rests", Jobs: 5000}}, Reason: &view.WhyRow{Stuck: true}},
	}
	d := overviewData{Ready: 10060, Waits: waits}
	d.served(fleet{
		Agents: []view.AgentRow{{Type: "mail"}, {Type: "paused"}, {Type: "rests"}},
		Paused: []view.PausedRow{{Type: "paused"}},
	})
	d.measure(last, now)
	if d.EmptyIn != 30 {
		t.Errorf("empty in %v s", d.EmptyIn)
	}
	d = overviewData{Ready: 60, Waits: waits}
	d.served(fleet{Agents: []view.AgentRow{{Type: "mail"}}, Paused: []view.PausedRow{{}}})
	if d.measure(last, now); d.EmptyIn != 0 {
		t.Errorf("all is paused, and empty in %v s", d.EmptyIn)
	}
}

// A child that rests after its deaths has no process: it takes none of the slots.
func TestOverview_AChildThatRestsTakesNoSlot(t *testing.T) {
	t.Parallel()
	host := view.HostRow{Name: "local", Slots: 1}
	d := overviewData{}
	d.lanes(fleet{Hosts: []view.HostRow{host}}, []view.ChildRow{
		{Host: "local", Type: "a", State: "RUNNING"}, {Host: "local", Type: "b", State: "FAIL"}, {Host: "local", Type: "c", State: "FREE"},
	})
	if d.Children != 1 || d.Lanes[0].HostRow.Children != 1 || len(d.Lanes[0].Children) != 2 {
		t.Errorf("%d children take slots, and the lane is %+v", d.Children, d.Lanes[0])
	}
}

// A reader sees no payload, no log and no button, an operator all of them.
func TestPages_ShowWhatTheRoleMaySee(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	s.exec(`insert into bellhop.jobqueue (type, args) values ('mail', 'secret words')`)
	s.exec(
		`update bellhop.jobqueue set state = 'failed', attempt = 1, ended_at = now(), error = 'exit status 3: secret error', reason = 'exit status 3'`,
	)
	s.exec(`insert into bellhop.log (job, attempt, level, line) values (1, 1, 'err', 'secret line')`)
	for _, path := range []string{"/", "/jobs?state=failed", "/jobs/1", "/failures"} {
		s.who = aReader
		if body := s.get(http.StatusOK, path); strings.Contains(body, "secret") ||
			strings.Contains(body, `action="/do/`) {
			t.Errorf("%s: a reader sees a payload, or a button", path)
		}
	}
	s.who = anOperator
	body := s.get(http.StatusOK, "/jobs/1")
	for _, want := range []string{"secret words", "secret error", "secret line", `action="/do/retry"`, "the form&#39;s token"} {
		if !strings.Contains(body, want) {
			t.Errorf("an operator does not see %q", want)
		}
	}
	s.who = aReader
	s.post(http.StatusForbidden, "/do/retry", url.Values{"id": {"1"}})
	if state := s.one("select state from bellhop.jobqueue where id = 1"); state != "failed" {
		t.Errorf("a reader has made it %s", state)
	}
}

// What a form orders is done, and the page that it came from says so.
func TestPages_DoWhatTheirFormsOrder(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	s.exec(`insert into bellhop.jobqueue (type, args) select 'mail', g::text from generate_series(1, 6) g`)
	s.exec(`update bellhop.jobqueue set state = 'failed', attempt = 1, started_at = now(), ended_at = now(),
		error = 'disk ' || id || ' is full' where id in (4, 5)`)
	state := func(id int) string {
		return s.one("select state || ' ' || priority from bellhop.jobqueue where id = $1", id)
	}
	for _, step := range []struct {
		verb, id, want string
		id2            int
	}{{"hold", "1", "held 0", 1}, {"release", "1", "ready 0", 1}, {"priority", "2", "ready -7", 2}, {"cancel", "3", "cancelled 0", 3}, {"retry", "3", "ready 0", 3}} {
		to := s.post(
			http.StatusSeeOther,
			"/do/"+step.verb,
			url.Values{"id": {step.id}, "priority": {"-7"}, "back": {"/jobs/" + step.id}},
		)
		if got := state(step.id2); got != step.want {
			t.Errorf("%s: it is %s, not %s", step.verb, got, step.want)
		}
		if body := s.get(http.StatusOK, to); !strings.Contains(body, "1 job was") {
			t.Errorf("%s: %s does not say what was done", step.verb, to)
		}
	}
	s.post(http.StatusSeeOther, "/do/pause", url.Values{"type": {"mail"}})
	if n := s.one("select count(*)::text from bellhop.paused"); n != "1" {
		t.Errorf("%s types are paused", n)
	}
}

// What somebody has made up leads to a page that says so, never to an error of ours, and never to another site.
func TestPages_RefuseWhatIsMadeUp(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	s.exec(`insert into bellhop.jobqueue (type) values ('mail')`)
	for _, path := range []string{"/nothing", "/jobs/0", "/jobs/-1", "/jobs/x", "/jobs/99", "/jobs/99999999999999999999", "/jobs/1/nothing",
		"/workflows/nothing", "/workflows/%25", "/runs/9", "/runs/x", "/jobs/99/graph", "/static/..%2fpage.go", "/live?at=nothing"} {
		s.get(http.StatusNotFound, path)
	}
	for _, query := range []string{"below=x", "below=-9", "below=99999999999999999999", "state=nothing", "type=%00", "key=%00%ff", "error=%25%5c",
		"key=%27%3b--", "type=" + strings.Repeat("x", 4000), "state=ready&state=ready", "did=nothing&n=9", "did=retry&n=x", "did=<b>&n=1"} {
		s.get(http.StatusOK, "/jobs?"+query)
	}
	for _, back := range []string{"//evil.example", "https://evil.example/", `/\evil.example`, "javascript:alert(1)", ""} {
		if to := s.post(http.StatusSeeOther, "/do/hold", url.Values{"id": {"1"}, "back": {back}}); !strings.HasPrefix(
			to,
			"/?",
		) {
			t.Errorf("back to %q leads to %q", back, to)
		}
	}
	s.post(http.StatusBadRequest, "/do/nothing", nil)
}

// Filters find what they say, from page to page, and none is shown twice.
func TestPages_ListJobsPageByPage(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	s.exec(`insert into bellhop.jobqueue (type, key) select 'mail', 'order.' || g from generate_series(1, 120) g`)
	s.exec(`insert into bellhop.jobqueue (type, key) select 'other', 'bill.' || g from generate_series(1, 10) g`)
	s.exec(
		`update bellhop.jobqueue set state = 'succeeded', attempt = 1, started_at = now(), ended_at = now() where id <= 60`,
	)
	for _, states := range []string{"", "state=ready&", "state=ready&state=succeeded&"} {
		seen := map[int]bool{}
		path := "/jobs?" + states + "key=order.*"
		for pages := 0; path != ""; pages++ {
			body := s.get(http.StatusOK, path)
			path = ""
			for id := range 131 {
				if strings.Contains(body, fmt.Sprintf(`id="job-%d"`, id)) {
					if seen[id] {
						t.Errorf("%s: job %d twice", states, id)
					}
					seen[id] = true
				}
			}
			if _, rest, more := strings.Cut(body, `rel="next" href="`); more {
				path, _, _ = strings.Cut(rest, `"`)
				path = strings.ReplaceAll(path, "&amp;", "&")
			}
			if pages > 10 {
				t.Fatal("it does not end")
			}
		}
		want := 60
		if strings.Contains(states, "succeeded") {
			want = 120
		}
		if len(seen) != want {
			t.Errorf("%q: %d jobs, not %d", states, len(seen), want)
		}
	}
	if body := s.get(http.StatusOK, "/jobs?key=7"); !strings.Contains(body, "<h1>#7") {
		t.Error("a job's number does not lead to it")
	}
	s.exec(`insert into bellhop.jobqueue (type, key) values ('mail', '7th')`)
	if body := s.get(http.StatusOK, "/jobs?key=7"); strings.Contains(body, "<h1>#7") || !strings.Contains(body, ">7th<") {
		t.Error("keys that begin with a job's number are not listed")
	}
	if body := s.get(http.StatusOK, "/jobs?key=%237"); !strings.Contains(body, "<h1>#7") {
		t.Error("#7 does not lead to the job")
	}
}

// A type may have a blank, a comma or a quote in its name: links, forms and lines to copy mean that type, and no other.
func TestPages_TypesWithBlanksAndCommas(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	const odd = `big, "blue" mail`
	s.exec(`insert into bellhop.jobqueue (type) values ($1), ('big'), ('blue'), ('mail')`, odd)
	page := s.get(http.StatusOK, "/")
	_, rest, ok := strings.Cut(page, `href="/jobs?state=ready&amp;type=%22big`)
	if !ok {
		t.Fatalf("the overview has no link to that type:\n%s", page)
	}
	link, _, _ := strings.Cut(rest, `"`)
	list := "/jobs?state=ready&type=%22big" + link
	page = s.get(http.StatusOK, list)
	if n := strings.Count(page, `<tr id="job-`); n != 1 || !strings.Contains(page, `<tr id="job-1"`) {
		t.Errorf("%s lists %d jobs", list, n)
	}
	if !strings.Contains(html.UnescapeString(page), `bellhop ls -s ready -t 'big, "blue" mail'`) {
		t.Errorf("the line to copy is another:\n%s", page)
	}
	form := s.forms(list, "plan")[0]
	form.Set("verb", "hold")
	page = s.get(http.StatusOK, s.post(http.StatusSeeOther, "/do/plan", form))
	if !strings.Contains(page, "1 job would be changed") {
		t.Errorf("the order is for others:\n%s", page)
	}
	for text, want := range map[string]int{"": 0, " , ": 0, "a b,c": 3, `"a b",c`: 2, `"a""b" "c`: 2} {
		if got := typesOf(text); len(got) != want {
			t.Errorf("%q is %d types: %q", text, len(got), got)
		}
	}
}
