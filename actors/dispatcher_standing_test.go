package actors

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"bellhop/actors/dispatch"
	"bellhop/actors/message"
	"bellhop/actors/upkeep"
	"bellhop/scheduler"
)

// A job that was passed over is told with all that there is to know of it; one that is
// looked at while nothing was asked for is not.
func TestStanding_WhatIsPassedOverIsToldWithTheBooks(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	u := &chores{next: -1, found: scheduler.Explained{Began: "7",
		Lost: []scheduler.Unexplained{{Job: 5, Type: "a", Row: "1", Told: `{"priority": 3}`}}}}
	cfg := Config{Maintenance: u, Scan: 5 * time.Second, Log: slog.New(slog.NewTextHandler(&said, nil))}
	play(t, cfg, func(s *stage) {
		s.listen(message.RoleDispatcher)
		s.start(message.RoleMaintenance, upkeep.NewMaintenance(s.forMaintenance()))
		look := func(m *message.Stands) []*message.Doubts {
			s.Tell(message.RoleMaintenance, m)
			s.Tell(message.RoleMaintenance, &message.Rang{Scan: true})
			return after[*message.Doubts](s, 5*time.Second, message.RoleDispatcher)
		}
		began := time.Now()
		for range 3 { // the dispatcher stands still
			for _, m := range look(&message.Stands{Still: scheduler.Standstill{Why: "it compares its books", Since: began}}) {
				if len(m.Passed) > 0 {
					t.Errorf("passed over, though nothing was asked for: %+v", m.Passed)
				}
			}
		}
		if last := u.lookers[len(u.lookers)-1]; last.Still.Why == "" || last.Seen != "" {
			t.Errorf("it tells %+v", last)
		}
		rested := time.Now()
		told := look(&message.Stands{Rested: rested})
		if len(told) == 0 || len(told[len(told)-1].Passed) != 1 {
			t.Fatalf("it is not passed over: %+v", told)
		}
		if last := u.lookers[len(u.lookers)-1]; last.Still.Why != "" || last.Seen != "7" {
			t.Errorf("it tells %+v", last)
		}
		s.Become(0) // it claims nothing
		s.start("doubting", dispatch.New(s.forDispatcher()))
		s.Tell("doubting", told[len(told)-1])
		after[*message.Doubts](s, 0, message.RoleDispatcher)
		for _, part := range []string{"no cause is known", "job=5", `{\"priority\": 3}`, "none of this instance's types", "holds=0"} {
			if !strings.Contains(said.String(), part) {
				t.Errorf("no %s in %s", part, said.String())
			}
		}
	})
}
