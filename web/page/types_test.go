package page

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"bellhop/scheduler"
	"bellhop/scheduler/history"
	"bellhop/sql/view"
)

// Types in trouble come first, then those with work, and those without any last.
func TestTypeRows_TroubleFirst(t *testing.T) {
	t.Parallel()
	rows := typeRows([]view.WaitRow{
		{QueueRow: view.QueueRow{State: scheduler.Ready, Type: "unserved", Jobs: 3}, Age: 9},
		{QueueRow: view.QueueRow{State: scheduler.Ready, Type: "busy", Jobs: 70}, Age: 400},
		{QueueRow: view.QueueRow{State: scheduler.Running, Type: "busy", Jobs: 2}},
		{QueueRow: view.QueueRow{State: scheduler.Assigned, Type: "busy", Jobs: 5}},
	}, []view.HistoryRow{
		{Type: "quiet", Counts: history.Counts{Succeeded: 5}},
		{Type: "busy", Counts: history.Counts{Succeeded: 3, Failed: 1}},
	},
		fleet{Agents: []view.AgentRow{{Type: "idle", Trouble: []byte("{}")}, {Type: "busy", Trouble: []byte("{}")},
			{Type: "quiet", Trouble: []byte("{}")}, {Type: "broken", Trouble: []byte(`{"big1": "exit status 127"}`)}}})
	var got []string
	for _, r := range rows {
		got = append(got, fmt.Sprint(r.Type, r.rank()))
	}
	if want := "unserved0 broken0 busy1 quiet2 idle3"; strings.Join(got, " ") != want {
		t.Errorf("they are %v, not %s", got, want)
	}
	if busy := rows[2]; busy.Share != "25 %" || busy.Age != 400 || busy.Running != 2 || busy.Assigned != 5 ||
		rows[1].Trouble != "big1: exit status 127" {
		t.Errorf("%+v, %+v", busy, rows[1])
	}
}

// The page of a type answers what is asked at night: rates, waits, a day, what fails and why it waits.
func TestType_SaysHowItGoes(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	const odd = `a/b, "c"`
	s.exec(`insert into bellhop.jobqueue (type) select t from unnest(array['mail', $1]) t, generate_series(1, 30)`, odd)
	s.exec(`insert into bellhop.history select date_trunc('minute', now()) - g * interval '1 min', 'mail', 1, 9, 8, 1, 0, 0, 0, 0,
		'{320,8,400,1}', '{300,9}' from generate_series(1, 300) g`)
	s.exec(`insert into bellhop.jobqueue (type, state, attempt, started_at, ended_at, error) values ('mail', 'failed', 1, now(), now(), 'no paper')`)
	page := s.get(http.StatusOK, "/types/mail")
	for _, want := range []string{
		"<b>30</b><span>ready", "6.2/min</b><span>in", "9/min</b><span>out", "(11 %)", "no paper", "Why it waits", "The last day", "p50 to p99", `class="wait"`, "no agent", `action="/do/pause"`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page of a type has no %q:\n%s", want, page)
		}
	}
	if page := s.get(http.StatusOK, "/types/a%2Fb%2C%20%22c%22"); !strings.Contains(page, "<b>30</b><span>ready") {
		t.Errorf("a type with a slash has no page:\n%s", page)
	}
	list := s.get(http.StatusOK, "/types")
	if strings.Count(list, "data-href") != 2 || !strings.Contains(list, `data-href="/types/a%2Fb`) {
		t.Errorf("the list has other types:\n%s", list)
	}
	if list := s.get(http.StatusOK, "/types?type=AI"); strings.Count(list, "data-href") != 1 {
		t.Error("a part of a name finds another number of types than one")
	}
	s.who = aReader
	if page := s.get(http.StatusOK, "/types/mail"); strings.Contains(page, "/do/") {
		t.Error("a reader has a button")
	}
}

// A wait is drawn between a millisecond at the foot and a day at the top.
func TestSpreads_KeepWithinThePicture(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)
	list, lines := spreads([]view.HistoryRow{
		{Minute: from.Add(-time.Minute), Wait: []int32{320, 5}}, {Minute: from.Add(16 * time.Minute), Wait: []int32{1, 5, 900, 5}},
		{Minute: from.Add(25 * time.Hour), Wait: []int32{320, 5}},
	}, from)
	if len(list) != 1 || list[0].X != 11 || list[0].Y < 0 || list[0].Y+list[0].H > chartHeight+2 ||
		!strings.HasPrefix(list[0].Says, "00:15: p50 ") {
		t.Errorf("drawn: %+v", list)
	}
	if !(lines[0] > lines[1] && lines[1] > lines[2]) {
		t.Errorf("the lines are %v", lines)
	}
}

// With hundreds of types the page of hosts lists those that run, and folds the others.
func TestHosts_OfHundredsOfTypes(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	s.exec(`insert into bellhop.instance (name, hostname, machine, pid, process_start, version, lag) values ('one', 'h', 'm', 4, '1', 'v', '1h')`)
	s.exec(`insert into bellhop.host (instance, name, slots, state) values (1, 'local', 8, 'up'), (1, 'gone', 8, 'down')`)
	s.exec(`insert into bellhop.agent (instance, type, mode, dialect, command, max, max_per_host, trouble)
		select 1, 'team' || g, 'warm', 'json', '/opt/' || repeat('long/', 40) || 'bin/agent' || g, 0, 0,
		       case when g = 77 then '{"local": "cannot start"}' else '{}' end::jsonb from generate_series(1, 200) g`)
	s.exec(`insert into bellhop.child (instance, host, name, type, state, since, done, deaths) values (1, 'local', 'team9.1', 'team9', 'RUNNING', now(), 4, 0)`)
	page := s.get(http.StatusOK, "/hosts")
	broken, runs := strings.Index(page, `"lead"><a href="/types/team77"`), strings.Index(page, `"lead"><a href="/types/team9"`)
	if broken < 0 || runs < broken || strings.Count(page, `"lead"`) != 2 {
		t.Errorf("the one in trouble stands at %d, the one that runs at %d:\n%s", broken, runs, page)
	}
	for _, want := range []string{
		"198 more types without a child", "bin/agent77\n", "200 types", "</b> cannot start</p>",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("it has no %q", want)
		}
	}
	if len(page) > 60_000 || strings.Contains(page, "instance 1") {
		t.Errorf("it has %d bytes, or names the only instance in each row", len(page))
	}
	if strings.Count(page, " free<") != 1 {
		t.Error("a host that is down has free slots")
	}
	if page := s.get(http.StatusOK, "/hosts?type=TEAM12"); strings.Count(page, `"lead"`) != 11 {
		t.Errorf("a part of a name finds %d types, not 11", strings.Count(page, `"lead"`))
	}
}
