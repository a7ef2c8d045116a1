package e2e

import (
	"fmt"
	"strings"
	"testing"

	"bellhop/pgdev/pgtest"
)

// TestGuard_AJobThatKillsItIsQuarantinedAndItsNeighbourIsNot: one guard has all
// agents of the machine. Jobs, of an agent a job and of one that stays up, that
// kill their parent are found and end; what runs beside them is lost once at most.
func TestGuard_AJobThatKillsItIsQuarantinedAndItsNeighbourIsNot(t *testing.T) {
	t.Parallel()
	for _, killer := range []string{"run", "stay"} {
		t.Run(killer, func(t *testing.T) {
			t.Parallel()
			e := setup(t)
			e.serve("hosts:\n  - {name: local, slots: 8}\n" + agents("type: run, command: [sh, -c], mode: exec",
				"type: stay, command: ["+e.worker("stay", `sh -c "$line"`)+"]", // the line's parent is the agent
				"type: calm, command: [sh, -c], mode: exec"))
			beside := e.insert("type, args", "calm", fmt.Sprintf("echo begun >>%s/begun; while [ ! -e %[1]s/end ]; do sleep 0.05; done", e.dir))
			pgtest.Eventually(t, patience, "its neighbour runs", func() bool { return len(e.lines("begun")) == 1 })
			parent := "$PPID"
			if killer == "stay" {
				parent = "$(ps -o ppid= -p $PPID)"
			}
			id := e.insert("type, args", killer, "sleep 0.2; kill -9 "+parent+"; sleep 1000")
			e.waitState(id, "quarantined")
			if why := value[string](e, "select error from bellhop.jobqueue where id = $1", id); !strings.HasPrefix(why, "kills_guard: 3 times") {
				t.Errorf("its error is %q", why)
			}
			e.because(id, "kills_guard")
			e.eventually("its neighbour runs again", fmt.Sprintf("select state = 'running' from bellhop.jobqueue where id = %d", beside))
			e.file("end", "", 0o644)
			e.waitState(beside, "succeeded")
			if lost := value[int](e, "select lost from bellhop.jobqueue where id = $1", beside); lost > 1 {
				t.Errorf("its neighbour was lost %d times", lost)
			}
			e.waitState(e.insert("type, args", "run", "true"), "succeeded") // the type is not barred
		})
	}
}
