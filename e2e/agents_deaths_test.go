package e2e

import (
	"fmt"
	"testing"
)

// TestAgent_DiesWhileItWorks: it comes up each time, so that the log is what to look at. It is told how many children
// died and of what, and when the next one starts.
func TestAgent_DiesWhileItWorks(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve("limits: {deaths: 3, window: 1h}\n" +
		agents("type: frail, command: ["+e.script("frail", "echo OK; read -r line; exit 1")+"]"))
	e.waitState(e.insert("type, max_attempts", "frail", 9), "quarantined")
	job := e.insert("type", "frail")
	said := e.because(job, "agent_fails/works", "local: 3 children died while they worked, the last with: exit status 1; ",
		"its agent is started again at 2")
	if want := fmt.Sprintf("bellhop logs %d", job); said.Next != want {
		t.Errorf("next is %q, and not %q", said.Next, want)
	}
	e.eventually("the row says so too",
		"select coalesce(waiting_for, '') like 'agent_fails: local: 3 children died%' from bellhop.jobqueue where id = $1", job)
}
