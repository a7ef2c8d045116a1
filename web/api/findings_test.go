package api_test

import (
	"slices"
	"testing"
)

// What is wrong with the fleet, the work and the messages is told over HTTP as bellhop doctor tells it.
func TestFindings_TellOfAFleetInTrouble(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.exec(`insert into bellhop.instance (name, hostname, machine, pid, process_start, version, lag)
		values ('one', 'h', 'm', 1, '1', 'v', '10s')`)
	s.exec(`insert into bellhop.host (instance, name, slots, serves, state, trouble)
		values (1, 'big1', 4, '{}', 'down', 'no route to host')`)
	s.exec(`insert into bellhop.agent (instance, type, mode, dialect, command, max, max_per_host, trouble)
		values (1, 'sick', 'warm', 'auto', 'false', 1, 1, '{"local": "exit status 1"}')`)
	s.exec(`insert into bellhop.jobqueue (type, waiting_for) values ('nobodys', 'unknown_type: nobodys')`)
	s.exec(`set session_replication_role = replica`)
	s.exec(`insert into bellhop.notice (run, workflow, project, state, ended_at, channel, target, needs, status, tries, until)
		select n, 'w', '', 'failed', now(), 'mail', 'a@b', 'mail', 'waiting', 3, now() + interval '1 h' from generate_series(1, 15) n`)
	s.exec(`set session_replication_role = origin`)
	var f struct {
		OK       bool
		Findings []struct{ Code, Says, Mend string }
	}
	if err := unmarshal(s.must(200, "reader", "GET", "/findings", ""), &f); err != nil {
		t.Fatal(err)
	}
	var codes []string
	for _, one := range f.Findings {
		codes = append(codes, one.Code)
	}
	for _, want := range []string{"host_down", "agent_fails", "type_unserved", "messages_fail"} {
		if !slices.Contains(codes, want) {
			t.Errorf("%s is not among %+v", want, f.Findings)
		}
	}
	if f.OK {
		t.Error("and it says that all is well")
	}
}
