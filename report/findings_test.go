package report

import (
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"bellhop/scheduler"
	"bellhop/sql/view"
)

func wellServer() view.ServerRow {
	return view.ServerRow{Version: 150018, Fsync: true, FullPageWrites: true, SynchronousCommit: "on", Autovacuum: true,
		MaxConnections: 100, Connections: 10, Database: "app", SeesAll: true}
}

// wellScene is an instance at work, of which nothing is to be said.
func wellScene() Scene {
	return Scene{
		OldAfter:  OldTransaction,
		Instances: []view.InstanceRow{{ID: 1, Name: "one", Version: "v1", Lag: "00:00:10"}},
		Hosts:     []view.HostRow{{Name: "local", State: "up"}},
		Agents:    []view.AgentRow{{Type: "sh", Trouble: json.RawMessage("{}")}},
		Children:  []view.ChildRow{{Type: "sh", State: "READY"}},
		Queue:     []view.QueueRow{{State: "ready", Type: "sh", Jobs: 3, Why: "no_room"}},
		Ended:     []Ended{{"sh", 3, 3}},
		Messages:  []view.MessagesRow{{Channel: "mail", Sent: 7}},
		Server:    wellServer(),
		Triggers:  []view.TriggerRow{{OnTable: "bellhop.jobqueue", Name: "_900_ring", Fires: true}},
	}
}

// Each thing that goes wrong is found under its code, with what mends it, and where all is well nothing is.
func TestFindings_OfEachThingThatGoesWrong(t *testing.T) {
	t.Parallel()
	if list := Troubles(Judge(wellScene())); len(list) > 0 {
		t.Errorf("all is well, and it found %+v", list)
	}
	why := "ssh: connect to host big1: no route"
	found := map[string]bool{}
	for _, x := range []struct {
		code string
		ill  func(*Scene)
		says []string
		mend string
	}{
		{"no_instance", func(s *Scene) { s.Instances = nil }, []string{"none is running"}, "bellhop serve"},
		{"instance_silent", func(s *Scene) { s.Instances[0].Silent = 61 }, []string{"silent for 1m01s"}, "bellhop instances"},
		{"versions_differ", func(s *Scene) { s.Instances = append(s.Instances, view.InstanceRow{Version: "v2"}) },
			[]string{"2 run, in 2 versions"}, "bellhop instances"},
		{"host_down", func(s *Scene) { s.Hosts = append(s.Hosts, view.HostRow{Name: "big1", State: "down", Trouble: &why}) },
			[]string{"host big1 is down: ssh: connect"}, "bellhop hosts"},
		{"agent_fails", func(s *Scene) { s.Agents[0].Trouble = json.RawMessage(`{"local":"exit status 3","big1":"no OK"}`) },
			[]string{"agents of sh do not come up: big1: no OK; local: exit status 3"}, "bellhop config check --spawn"},
		{"agent_fails", func(s *Scene) {
			s.Agents[0].Trouble = json.RawMessage(`{"local":"5 children died while they worked, the last with: exit status 1"}`)
		}, []string{"agents of sh die while they work: local: 5 children died"}, "bellhop agents"},
		{"agent_fails", func(s *Scene) { s.Children = []view.ChildRow{{Type: "sh", State: "FAIL", Deaths: 12}} },
			[]string{"agents of sh are not started for now: 12 died"}, "bellhop agents"},
		{"failover_loss", func(s *Scene) { s.Losses = []view.LossRow{{Name: "one", Gone: 74, Again: 3}} },
			[]string{"of the runs of one, 74 have no row any more, and 3 are made again"}, view.LossSeen},
		{"type_unserved", func(s *Scene) { s.Queue[0].Why = "unknown_type: sh" },
			[]string{"3 jobs wait that are of type sh, which no instance serves"}, "bellhop ls -s ready -t sh"},
		{"type_unserved", func(s *Scene) {
			s.Queue = nil
			for i := range 20_000 {
				typ := scheduler.TypeName("t" + strconv.Itoa(i))
				s.Queue = append(s.Queue, view.QueueRow{State: "ready", Type: typ, Jobs: 1, Why: "unknown_type"})
			}
		}, []string{"1 job waits that is of type t4", "19,995 jobs wait that are of 19995 types more"}, ""},
		{"type_fails", func(s *Scene) { s.Ended[0] = Ended{"it's", 4, 3} }, []string{"4 failed and 3 succeeded"}, `-t 'it'\''s'`},
		{"messages_fail", func(s *Scene) { s.Messages[0].Failing, s.Messages[0].GivenUp = 15, 2 },
			[]string{"by mail, in the last day: 15 wait after a failed try, 2 were given up, 7 were sent"}, "bellhop workflow notify messages"},
		{"attachment_stuck", func(s *Scene) { s.Attachments = []view.AttachmentRow{{Name: "orders", Trouble: &why}} }, []string{"orders: "}, "bellhop attachments"},
		{"paused", func(s *Scene) { s.Paused = []view.PausedRow{{Type: "sh", PausedBy: "ann"}} }, []string{"sh is paused by ann"}, "bellhop resume sh"},
		{"read_only", func(s *Scene) { s.Server.Standby = true }, []string{"a standby"}, "target_session_attrs=read-write"},
		{"read_only", func(s *Scene) { s.Server.ReadOnly = true }, []string{"read-only"}, "reset default_transaction_read_only"},
		{"not_durable", func(s *Scene) { s.Server.Fsync = false }, []string{"fsync is off"}, "alter system set fsync = on"},
		{"notify_queue_full", func(s *Scene) { s.Server.NotifyUsage = 0.11 }, []string{"11% full"}, "pg_terminate_backend"},
		{"connections_few", func(s *Scene) { s.Server.Connections = 91 }, []string{"91 of 100"}, "max_connections = 200"},
		{"autovacuum_off", func(s *Scene) { s.Server.Autovacuum = false }, []string{"autovacuum is off"}, "autovacuum = on"},
		{"transaction_open", func(s *Scene) { s.Open = []view.OpenRow{{PID: 7, Login: "app", Age: 700}} }, []string{"(pid 7"}, "pg_terminate_backend(7)"},
		{"transaction_open", func(s *Scene) { s.Open = []view.OpenRow{{Prepared: "it's", Login: "app", Age: 700}} }, []string{"prepared"}, "rollback prepared 'it''s'"},
		{"trigger_off", func(s *Scene) { s.Triggers[0].Fires = false }, []string{"_900_ring on bellhop.jobqueue is disabled"}, "enable trigger"},
	} {
		s := wellScene()
		x.ill(&s)
		list := Troubles(Judge(s))
		found[x.code] = true
		if len(list) == 0 {
			t.Errorf("%s is not found", x.code)
			continue
		}
		said, mend := "", ""
		for _, f := range list {
			said, mend = said+f.Says+"\n", mend+strings.Join(f.SQL, "; ")+f.Mend+"\n"
			if f.Code != x.code {
				t.Errorf("beside %s it found %+v", x.code, f)
			}
		}
		for _, want := range x.says {
			if !strings.Contains(said, want) {
				t.Errorf("%s says %q, and not %q", x.code, said, want)
			}
		}
		if !strings.Contains(mend, x.mend) {
			t.Errorf("%s is mended by %q, and not %q", x.code, mend, x.mend)
		}
	}
	for _, c := range checks {
		if !found[c.code] {
			t.Errorf("no case of %s here", c.code)
		}
	}
}

// Each code has a line in /metrics also while nothing is found, an alert and a line in the documentation.
func TestFindings_EachHasAnAlert(t *testing.T) {
	t.Parallel()
	alerts, err := os.ReadFile("../compose/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	counts := Count(Judge(wellScene()))
	codes := Codes()
	for _, code := range codes {
		if !strings.Contains(string(alerts), `bellhop_findings{code="`+code+`"}`) {
			t.Errorf("compose/alerts.yml has no rule for %s", code)
		}
		if n, is := counts[code]; !is || n != 0 {
			t.Errorf("/metrics says %d of %s where all is well", n, code)
		}
	}
	if unique := slices.Compact(slices.Sorted(slices.Values(codes))); len(unique) != len(codes) {
		t.Errorf("a code stands twice: %v", codes)
	}
}
