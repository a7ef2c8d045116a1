package e2e

import (
	"strings"
	"testing"

	"bellhop/pgdev/pgtest"
)

// foss writes an agent of the fossology dialect in shell: it does body for its
// data, in $data, and says its last word.
func (e *env) foss(name, body string) (path string) {
	e.t.Helper()
	return e.script(name, `echo "VERSION: 1.0"; echo; echo OK
while IFS= read -r data; do case $data in CLOSE*) break;; END*) echo OK;; *)
`+body+`
;; esac; done
echo "HEART: ${n:-0} 1"; echo; echo "BYE ${result:-0}"`)
}

func TestFOSSology_JobsOfTodaysAgents(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(agents(
		"type: count, dialect: fossology, config: /etc/fo, command: ["+e.foss("count", `n=$data; echo "NOTICE $0 $*"; pwd`)+"]",
		"type: fails, dialect: fossology, command: ["+e.foss("fails", `echo "FATAL a.c.1: no such upload" >&2; result=7`)+"]",
		"type: leaves, dialect: fossology, command: ["+e.foss("leaves", `echo "cannot go on" >&2; exit 0`)+"]",
		"type: chatty, dialect: fossology, command: ["+e.script("chatty", `[ -e "$DIR/quiet" ] || echo "warning: no locale"; exec "$DIR/count" "$@"`)+"]",
	))
	ok := e.insert("type, args, vars", "count", "17", `{"jobId":"12","userID":"3","groupID":"4"}`)
	if j := e.waitState(ok, "succeeded"); j.Done != 17 || j.ExitCode != 0 {
		t.Errorf("job is %+v", j)
	}
	has(t, e.logged(ok), "--jobId=12 --config=/etc/fo --userID=3 --groupID=4 --scheduler_start", "out: "+e.dir)
	msq := e.insert("type, msq", "count", "select g, 'x' || g from generate_series(1, 5) g")
	if j := e.waitState(msq, "succeeded"); j.Done != 5 || j.Total != 5 {
		t.Errorf("job is %+v", j)
	}
	bye := e.insert("type, args", "fails", "1")
	if j := e.waitState(bye, "failed"); j.ExitCode != 7 || j.Error != "the agent said BYE 7: FATAL a.c.1: no such upload" {
		t.Errorf("job is %+v", j)
	}
	left := e.insert("type, args", "leaves", "1")
	if j := e.waitState(left, "failed"); j.Error != "it left without BYE: exit status 0: cannot go on" {
		t.Errorf("job is %+v", j)
	}
	refused := e.insert("type, args", "count", "ENDLESS")
	if j := e.waitState(refused, "failed"); !strings.HasPrefix(j.Error, "not_data: ") {
		t.Errorf("job is %+v", j)
	}
	bad := e.insert("type, args", "chatty", "1")
	if j := e.waitState(bad, "failed"); j.Error != `invalid_agent: its first line is not VERSION: "warning: no locale"` {
		t.Errorf("job is %+v", j)
	}
	e.eventually("the type is marked", "select coalesce(trouble->>'local' like 'invalid_agent: %not VERSION%', false) from bellhop.agent where type = 'chatty'")
	e.file("quiet", "", 0o644)
	e.waitState(e.insert("type, args", "chatty", "1"), "succeeded")
	e.eventually("a good start heals it", "select trouble = '{}' from bellhop.agent where type = 'chatty'")
}

func TestFOSSology_CancelEndsTheAgent(t *testing.T) {
	t.Parallel()
	e := setup(t)
	i := e.serve(
		agents("type: long, dialect: fossology, command: ["+e.foss("long", `echo up >>"$DIR/up"; sleep 1000`)+"]"),
		"--verbose")
	id := e.insert("type, args", "long", "1")
	pgtest.Eventually(t, patience, "the agent works", func() bool { return len(e.lines("up")) == 1 })
	e.cancel(id)
	e.waitState(id, "cancelled")
	pgtest.Eventually(t, patience, "nothing of it is left", func() bool { return len(i.processes()) == 0 })
}

// Nothing runs beside an exclusive agent, on an instance that has work of both
// kinds all the time.
func TestFOSSology_AnExclusiveAgentIsAlone(t *testing.T) {
	t.Parallel()
	e := setup(t)
	note := func(name string) string {
		return `echo "+` + name + `" >>"$DIR/now"; sleep 0.02; echo "-` + name + `" >>"$DIR/now"`
	}
	e.serve(agents(
		"type: alone, dialect: fossology, exclusive: true, command: ["+e.foss("alone", note("alone"))+"]",
		"type: other, command: ["+e.worker("other", note("other"))+"]",
	))
	for range 4 {
		e.sql("insert into bellhop.jobqueue (type, args) select 'other', g::text from generate_series(1, 10) g")
		e.sql("insert into bellhop.jobqueue (type, args) select 'alone', g::text from generate_series(1, 2) g")
	}
	e.waitAll("succeeded 48")
	others, alone := 0, 0
	for _, l := range e.lines("now") {
		switch l {
		case "+other":
			others++
		case "-other":
			others--
		case "+alone":
			alone++
		case "-alone":
			alone--
		}
		if alone > 1 || alone == 1 && others > 0 {
			t.Fatalf("%d exclusive and %d others at once", alone, others)
		}
	}
}

// They run on another host as they do here: in their own folder, with one
// version everywhere.
func TestSSH_FOSSologyAgents(t *testing.T) {
	t.Parallel()
	s, e := openSSHD(t), setup(t)
	i := e.serve("hosts:\n  - {name: local, slots: 1}\n" + s.host("far", "slots: 2") + agents(
		"type: count, dialect: fossology, command: ["+e.foss("count", `n=$data; echo "NOTICE $*"; pwd; echo oops >&2`)+"]",
		"type: fails, dialect: fossology, command: ["+e.foss("fails", `result=7`)+"]",
		"type: here, dialect: fossology, local: true, command: ["+e.foss("here", ":")+"]"))
	ok := e.insert("type, args, vars, run_on", "count", "17", `{"jobId":"12"}`, "far")
	if j := e.waitState(ok, "succeeded"); j.Done != 17 || e.ranOn(ok) != "far" {
		t.Errorf("on %s: %+v", e.ranOn(ok), j)
	}
	has(t, e.logged(ok), "--jobId=12 --config=/usr/local/etc/fossology", "out: "+e.dir, "out: oops")
	bye := e.insert("type, args, run_on", "fails", "1", "far")
	if j := e.waitState(bye, "failed"); j.ExitCode != 7 || j.Error != "the agent said BYE 7" {
		t.Errorf("job is %+v", j)
	}
	for range 4 { // never there, though there is room
		id := e.insert("type, args", "here", "1")
		if e.waitState(id, "succeeded"); e.ranOn(id) != "local" {
			t.Errorf("it ran on %s", e.ranOn(id))
		}
	}
	i.stop()
	s.empty()
}
