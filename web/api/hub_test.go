package api_test

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"bellhop/sql/view"
	"bellhop/web/api"
)

// Whoever comes while the database is away is told that, and not of a queue that is {"away": true}.
func TestEvents_WhoComesLaterIsToldTheSame(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.hub.Close()
	nowhere, err := view.NewVisitors("postgres://127.0.0.1:1/nothing")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nowhere.Close)
	hub := api.NewHub(nowhere, slog.New(slog.DiscardHandler))
	t.Cleanup(hub.Close)
	for range 2 {
		if name, data := api.First(hub); name != "database" || data != `{"away":true}` {
			t.Errorf("event %s says %s", name, data)
		}
	}
}

// A statement that is refused is no database that does not answer.
func TestEvents_ARefusalIsNoDatabaseThatIsAway(t *testing.T) {
	t.Parallel()
	s := open(t)
	who := s.stream("reader", "/events")
	var q json.RawMessage
	who.event("queue", &q)
	s.exec("revoke select on bellhop.every_job from bellhop_reader, bellhop_scheduler")
	s.exec("insert into bellhop.jobqueue (type) values ('sh')")
	s.exec("select pg_sleep(3)") // the pulse is one of two seconds
	s.exec("grant select on bellhop.every_job to bellhop_reader, bellhop_scheduler")
	for who.lines.Scan() {
		if name, is := strings.CutPrefix(who.lines.Text(), "event: "); is && name != "jobs" {
			if name != "queue" {
				t.Errorf("the event is %s", name)
			}
			return
		}
	}
	t.Errorf("the stream ended: %v", who.lines.Err())
}
