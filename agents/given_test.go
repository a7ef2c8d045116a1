package agents

import (
	"strings"
	"testing"
	"time"

	"bellhop/scheduler"
)

// A line that is done may say that there was nothing to do. A word that is none fails it.
func TestGiven_EndedAs(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]scheduler.EndedAs{
		`{"ok":true}`: "", `{"ok":true,"ended_as":null}`: "",
		`{"ok":true,"ended_as":"no_data"}`: scheduler.NoData,
		`{"ok":true,"ended_as":"skipped"}`: scheduler.Skipped,
	} {
		said := parseJSON([]byte(line), nil)
		if len(said) != 1 || said[0].word != wordOK || (said[0].wish == nil) != (want == "") ||
			said[0].wish != nil && said[0].wish.EndedAs != want {
			t.Errorf("%s: %+v", line, said)
		}
	}
	for _, word := range []string{`"none"`, "7", `""`} {
		line := `{"ok":true,"ended_as":` + word + "}"
		said := parseJSON([]byte(line), nil)
		if len(said) != 1 || said[0].word != wordFail || !said[0].wish.Never ||
			!strings.Contains(string(said[0].text), `neither "no_data" nor "skipped"`) {
			t.Errorf("%s: %+v", line, said)
		}
	}
}

// An exit code that is configured is no failure, and keeps what was given back; what is said in words counts more.
func TestExec_AnExitCodeSaysThatThereWasNothingToDo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		stdout Stdout
		script string
		ok     bool
		as     scheduler.EndedAs
		code   int
	}{
		{StdoutLog, "exit 3", true, scheduler.NoData, 3},
		{StdoutLog, "exit 4", true, scheduler.Skipped, 4},
		{StdoutLog, "exit 5", false, "", 5},
		{StdoutLog, "exit 0", true, "", 0},
		{StdoutResult, "echo '[1]'; exit 3", true, scheduler.NoData, 3},
		{StdoutJSON, `echo '{"ok":true,"ended_as":"no_data"}'`, true, scheduler.NoData, 0},
		{StdoutJSON, `echo '{"ok":true,"ended_as":"maybe"}'`, false, "", 1},
		{StdoutJSON, `echo '{"fail":"no"}'; exit 3`, false, "", 3},
	} {
		spec := Spec{Type: "work", Command: []string{"sh", "-c", c.script}, Mode: ModeExec, Stdout: c.stdout,
			Ends: scheduler.Ends{3: scheduler.NoData, 4: scheduler.Skipped}}
		child := setup(t, spec).launch()
		child.await(scheduler.EventReady)
		child.feed(line(1, ""))
		ev := child.await(scheduler.EventAnswered)
		as := scheduler.EndedAs("")
		if ev.Answer != nil {
			as = ev.Answer.EndedAs
		}
		if ev.OK != c.ok || ev.OK && as != c.as || ev.ExitCode != c.code {
			t.Errorf("%s: %+v, %q", c.script, ev, as)
		}
		if c.stdout == StdoutResult && (ev.Answer == nil || string(ev.Answer.Result) != "[1]") {
			t.Errorf("it gave back %+v", ev.Answer)
		}
	}
}

// What an agent wants to become of a job.
func TestGiven_Wishes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line          string
		never         bool
		after, snooze time.Duration
		wrong         bool
	}{
		{line: `{"fail":"x"}`},
		{line: `{"fail":"x","retry":false}`, never: true},
		{line: `{"fail":"x","retry":true}`},
		{line: `{"fail":"x","retry":null,"snooze":null}`},
		{line: `{"fail":"x","retry":"1h30m"}`, after: 90 * time.Minute},
		{line: `{"fail":"x","retry":1.5}`, after: 1500 * time.Millisecond},
		{line: `{"fail":"x","retry":"0s"}`, wrong: true},
		{line: `{"fail":"x","retry":"-1m"}`, wrong: true},
		{line: `{"fail":"x","retry":"tomorrow"}`, wrong: true},
		{line: `{"fail":"x","retry":[1]}`, wrong: true},
		{line: `{"snooze":"10m"}`, snooze: 10 * time.Minute},
		{line: `{"snooze":60}`, snooze: time.Minute},
		{line: `{"snooze":"100000h"}`, wrong: true},
		{line: `{"snooze":1e300}`, wrong: true},
		{line: `{"snooze":true}`, wrong: true},
	} {
		said := parseJSON([]byte(c.line), nil)
		if len(said) != 1 || said[0].word != wordFail {
			t.Errorf("%s: %+v", c.line, said)
			continue
		}
		w := said[0].wish
		if wrong := strings.Contains(string(said[0].text), "write "); wrong != c.wrong {
			t.Errorf("%s: %s", c.line, said[0].text)
		}
		if w == nil && (c.never || c.after+c.snooze > 0) ||
			w != nil && (w.Never != c.never || w.After != c.after || w.Snooze != c.snooze) {
			t.Errorf("%s: %+v", c.line, w)
		}
	}
}
