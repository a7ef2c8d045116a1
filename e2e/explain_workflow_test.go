package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// workflowBecause waits until a workflow is explained by a cause.
func (e *env) workflowBecause(name, cause string, words ...string) reason {
	e.t.Helper()
	return e.caused("workflow "+name, cause, words, func() []reason {
		return e.explained("select code, sentence, next from bellhop.explain_workflow($1)", name)
	})
}

// Whoever asks why a workflow does not run hears it in words, with what to type.
func TestExplain_Workflows(t *testing.T) {
	t.Parallel()
	e := setup(t)
	in := filepath.Join(e.dir, "in")
	go1, write := e.fifo("go")
	if err := os.Mkdir(in, 0o700); err != nil {
		t.Fatal(err)
	}
	waits := "steps: [{name: a, type: sh, args: \"read -r go <" + go1 + "\"}]\n---\n"
	cron := fmt.Sprintf("0 %d * * *", (time.Now().UTC().Hour()+12)%24) // not while this runs, in no zone of these
	all := e.file("all.yaml", "workflow: rests\nactive: false\nsensor: {cron: \""+cron+"\"}\n"+waits+
		"workflow: by-hand\n"+waits+
		"workflow: nightly\nsensor: {cron: \""+cron+"\", zone: Europe/Prague}\n"+waits+
		"workflow: asked\nsensor: {http: true}\n"+waits+
		"workflow: fed\nsensor: {http: true}\nparameters: {DAY: today}\n"+waits+
		"workflow: nowhere\nsensor: {file: \"/nowhere/*\"}\n"+waits+
		"workflow: files\nsensor: {file: \""+in+"/*\"}\n"+waits+
		"workflow: far\nsteps: [{name: a, type: nowhere}]\n---\n"+
		"workflow: broken\nsteps: [{name: a, type: sh, args: \"exit 3\"}]\n", 0o600)
	e.ok("workflow", "apply", all)
	e.workflowBecause("nightly", "nobody_starts")
	e.workflowBecause("by-hand", "no_sensor")
	e.typed(e.workflowBecause("rests", "inactive"))

	e.serve(agents("type: sh, command: [sh, -c], mode: exec") + "sensors: {files: [" + in + "]}\n")
	e.workflowBecause("nowhere", "nobody_starts/unseen", "file")
	e.workflowBecause("far", "unknown_type/step", "Step a is of type 'nowhere'", "There are: sh.")
	e.workflowBecause("rests", "next_slot", " in ")
	e.workflowBecause("asked", "awaits_event/sensor", "http")
	if err := os.Remove(in); err != nil {
		t.Fatal(err)
	}
	e.typed(e.workflowBecause("files", "sensor_fails", in))

	e.ok("manager", "stop")
	stopped := e.workflowBecause("asked", "nobody_starts/stopped", "stopped")
	e.sql("select bellhop.workflow_http('asked', 'first')")
	e.workflowBecause("asked", "event_waits", "1 of its events")
	e.typed(stopped)
	e.workflowBecause("asked", "run_open", "is running")
	e.sql("select bellhop.workflow_http('asked', 'second')")
	e.workflowBecause("asked", "run_open", "is queued")
	e.ok("workflow", "deactivate", "asked")
	e.workflowBecause("asked", "run_open/inactive", "is queued")
	queued := value[int64](e, "select max(id) from bellhop.jobqueue where step = 'a'")
	e.typed(e.because(queued, "inactive/run", "workflow asked"))
	e.workflowBecause("asked", "run_open", "is queued")
	e.sql("select bellhop.workflow_http('asked', 'third')")
	skipped := e.workflowBecause("asked", "run_skipped", "third")
	has(t, e.typed(skipped), "skipped")
	e.sql("select bellhop.workflow_http('fed', g::text, '{\"day\": \"monday\"}') from generate_series(1, 3) g")
	e.workflowBecause("fed", "run_open/all", "and 2 are queued", "up to 1000")
	has(t, e.typed(e.workflowBecause("asked", "events_skipped", "1 of its last events was skipped")), "http=third")
	has(t, e.ok("workflow", "run", "asked", "--skipped", "--dry-run"), "asked would run of event http=third")
	later := strings.TrimSpace(e.ok("workflow", "run", "asked", "--event", "http=third"))
	e.workflowBecause("asked", "run_open", "Run "+later, "is queued")
	if r := e.run("workflow", "run", "asked", "--event", "http=third"); r.code != 7 ||
		!strings.Contains(r.stderr, "http=third has a run already: "+later) {
		t.Errorf("an event that has a run: %s", fmt.Sprint(r))
	}
	if r := e.run("workflow", "run", "asked", "--event", "http=fourth"); r.code != 3 {
		t.Errorf("an event that never was: %s", fmt.Sprint(r))
	}
	step := value[int64](e, "select min(id) from bellhop.jobqueue where step = 'a'")
	has(t, e.typed(e.because(step, "step_of", "workflow asked", "step a", "is running")), "http=first")
	write("go")
	write("go")

	run := strings.TrimSpace(e.ok("workflow", "run", "broken"))
	e.workflowBecause("broken", "run_failed", "run, "+run)
	has(t, e.ok("workflow", "explain", "broken"), "workflow broken is active", "no_sensor", "run_failed", "-> bellhop workflow retry "+run)
	if r := e.run("workflow", "explain", "nobody"); r.code != 3 || !strings.Contains(r.stderr, "nobody") {
		t.Errorf("of one that is not there it says %s", fmt.Sprint(r))
	}
}
