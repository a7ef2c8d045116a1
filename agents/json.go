package agents

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"

	"bellhop/scheduler"
)

// The json dialect. The agent's first line is
//
//	{"bellhop":1,"type":"T"}     with "batch":N it takes up to N jobs at once, see batch.go
//
// then it gets one line per job,
//
//	{"id":7,"attempt":1,"fence":3,"args":"…"|null,"item":{…},"vars":{…},"key":"…","traceparent":"…",
//	 "steps":{…},"event":…}
//
// (item, vars, key, traceparent, steps and event only where there is one), and says any of
//
//	{"ok":true}                        done, give me the next
//	{"ok":true,"ended_as":"no_data"}   and there was nothing to do; or "skipped": nor for what comes after it
//	{"fail":"reason","exit_code":2}    failed, give me the next; exit_code is 1 if not said
//	{"log":"text","level":"info"}      level debug, info or error
//	{"fail":"reason","retry":false}    and another try gives the same; or "retry":"10m": not sooner
//	{"snooze":"10m"}                   not now: again in so long, and this was no attempt; give me the next
//	{"progress":{"done":0.4,"text":"…"}}  how far it is (given.go); what is no such thing is kept in the log
//	{"result":…}                       any JSON; what the job gives back
//	{"success":true}  {"heartbeat":true}
//	{"lock":…}  {"unlock":…}           see locks.go; answered by a line
//	{"step":{"name":"…","output":…}}   see steps.go; answered by {"step":"…"} when it is kept
//	{"sleep":"3d"}  {"await":…}        the run ends, and the next one goes on later; give me the next
//
// each with "id" and "fence" if it likes: naming another line than the one in
// hand is an error that ends the agent. What is no such object is debug output, but
// a line that begins like a message and is not valid is an error (broken).
type jsonMessage struct {
	Bellhop   *int            `json:"bellhop"`
	Batch     *int            `json:"batch"`
	Type      string          `json:"type"`
	ID        *int64          `json:"id"`
	Fence     *int64          `json:"fence"`
	OK        *bool           `json:"ok"`
	EndedAs   json.RawMessage `json:"ended_as"`
	Fail      *string         `json:"fail"`
	ExitCode  *int            `json:"exit_code"`
	Log       *string         `json:"log"`
	Level     string          `json:"level"`
	Progress  json.RawMessage `json:"progress"`
	Result    json.RawMessage `json:"result"`
	Success   bool            `json:"success"`
	Heartbeat bool            `json:"heartbeat"`
	Retry     json.RawMessage `json:"retry"`
	Snooze    json.RawMessage `json:"snooze"`
	Lock      json.RawMessage `json:"lock"`
	Unlock    json.RawMessage `json:"unlock"`
	Step      json.RawMessage `json:"step"`
	Sleep     json.RawMessage `json:"sleep"`
	Await     json.RawMessage `json:"await"`
	Children  json.RawMessage `json:"children"`
	KeepLocks json.RawMessage `json:"keep_locks"` // of sleep, await and children: true or false
}

// jsonVersion is what an agent has to greet with.
const jsonVersion = 1

// parseHello tells whether line is a json agent's first one; why is empty if
// such an agent can be used. An empty typ is any. batch is how many jobs it takes at once.
func parseHello(line []byte, typ scheduler.TypeName) (is bool, batch int, why scheduler.Account) {
	var m jsonMessage
	if !looksJSON(line) || json.Unmarshal(line, &m) != nil || m.Bellhop == nil {
		return false, 0, why
	}
	if m.Batch != nil {
		if batch = *m.Batch; batch < 1 || batch > maxBatch {
			why.Reason = fmt.Sprintf("the agent asks for %d jobs at once; write {\"bellhop\":1,\"batch\":N} with N from 1 to %d",
				batch, maxBatch)
		}
	}
	if *m.Bellhop != jsonVersion {
		why.Reason = fmt.Sprintf("the agent speaks version %d of the json dialect, bellhop speaks %d", *m.Bellhop,
			jsonVersion)
	}
	if m.Type != "" && typ != "" && m.Type != string(typ) {
		why.Reason = fmt.Sprintf("the agent says it is of another type than %q, as which it is configured", typ)
		why.Message = fmt.Sprintf("%q", m.Type)
	}
	return true, batch, why
}

func looksJSON(line []byte) bool { return len(line) > 0 && line[0] == '{' }

// parseJSON appends what a line of a json agent says: everything else first,
// ok or fail last, since that ends the line in hand.
func parseJSON(line []byte, into []remark) []remark {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return into
	}
	var m jsonMessage
	if !looksJSON(line) {
		return append(into, remark{word: wordDebug, text: line})
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return broken(line, err, into)
	}
	whose := about{job: m.ID, fence: m.Fence}
	before := len(into)
	say := func(r remark) {
		r.about = whose
		into = append(into, r)
	}
	if m.Log != nil {
		say(remark{word: wordLog, level: levelNamed(m.Level), text: []byte(*m.Log)})
	}
	if m.Progress != nil {
		say(remark{word: wordProgress, text: m.Progress})
	}
	switch {
	case isThere(m.Result):
		say(remark{word: wordResult, text: m.Result})
	case m.Result != nil: // null: it gives nothing back
		say(remark{word: wordNothing})
	}
	if m.Lock != nil || m.Unlock != nil {
		say(remark{word: wordLock, text: line})
	}
	if isThere(m.Step) {
		say(remark{word: wordStep, text: line})
	}
	if m.Success {
		say(remark{word: wordSuccess})
	}
	if m.Heartbeat {
		say(remark{word: wordNothing})
	}
	if r := answerOf(&m); r.word != wordNothing {
		say(r)
	}
	if len(into) == before {
		return append(into, remark{word: wordDebug, text: line})
	}
	return into
}

// answerOf is how the line in hand went; wordNothing: the message does not say.
func answerOf(m *jsonMessage) remark {
	switch {
	case isThere(m.Sleep) || isThere(m.Await) || isThere(m.Children):
		return rests(m)
	case isThere(m.Snooze):
		return failure(m, remark{word: wordFail, text: []byte("snoozed")})
	case m.Fail != nil || m.OK != nil && !*m.OK:
		r := remark{word: wordFail, code: 1, text: []byte("and not why")}
		if m.Fail != nil && *m.Fail != "" {
			r.text = []byte(*m.Fail)
		}
		if m.ExitCode != nil && *m.ExitCode > 0 && *m.ExitCode <= 255 {
			r.code = *m.ExitCode
		}
		return failure(m, r)
	case m.OK != nil:
		return success(m)
	}
	return remark{}
}

// begins is how a line begins that is meant as a message.
var begins = regexp.MustCompile(`^\{\s*"(bellhop|id|fence|ok|ended_as|fail|exit_code|log|level|progress|result|success|heartbeat|retry|snooze|lock|unlock|step|sleep|await|children|keep_locks)"\s*:`)

// broken appends what becomes of a line that is no valid message. One that begins like a message is told as an error. A
// result is refused, so that no job succeeds without what it gave back; an answer fails the line: the agent waits for
// the next.
func broken(line []byte, err error, into []remark) []remark {
	key := begins.FindSubmatch(line)
	if key == nil {
		return append(into, remark{word: wordDebug, text: line})
	}
	why := fmt.Sprintf("the agent's message %q is not valid: %v", key[1], err)
	said := []byte(why + ": " + string(line[:min(len(line), 1000)]))
	into = append(into, remark{word: wordLog, level: scheduler.LevelError, text: said})
	switch word := string(key[1]); {
	case word == "step": // which fails the attempt
		return append(into, remark{word: wordStep, text: line})
	case word == "result" && !json.Valid(line):
		return append(into, remark{word: wordResult, text: line}) // which is refused as a result
	case word == "result":
		return append(into, remark{word: wordFail, code: 1, text: []byte(why)})
	}
	switch string(key[1]) {
	case "ok", "ended_as", "fail", "exit_code", "retry", "snooze", "sleep", "await", "children", "keep_locks":
		return append(into, remark{word: wordFail, code: 1, text: []byte(why)})
	}
	return into
}

// success is done, and how. An unknown way fails the line: the jobs after it would take it for done.
func success(m *jsonMessage) remark {
	if !isThere(m.EndedAs) {
		return remark{word: wordOK}
	}
	var said string
	if json.Unmarshal(m.EndedAs, &said) != nil {
		said = string(m.EndedAs)
	}
	as, err := scheduler.ReadEndedAs(said)
	if err != nil {
		why := []byte(`"ended_as": ` + err.Error())
		return remark{word: wordFail, code: 1, text: why, wish: &scheduler.Answer{Never: true}}
	}
	return remark{word: wordOK, wish: &scheduler.Answer{EndedAs: as}}
}

// failure adds what the agent wants to become of the job. A wish that cannot be
// read is a failure of the agent's, which it is told of in the job's error.
func failure(m *jsonMessage, r remark) remark {
	w, err := wish(m.Retry, m.Snooze)
	if err != nil {
		r.text = append(append(r.text[:len(r.text):len(r.text)], "; "...), err.Error()...)
		r.code = max(r.code, 1)
	}
	r.wish = w
	return r
}

func levelNamed(name string) scheduler.Level {
	switch name {
	case "debug":
		return scheduler.LevelDebug
	case "error", "fatal":
		return scheduler.LevelError
	}
	return scheduler.LevelInfo
}

// encodeJSON appends the line for an agent of the json dialect.
func encodeJSON(b []byte, l *scheduler.Line) ([]byte, error) {
	b = append(b, `{"id":`...)
	b = strconv.AppendInt(b, int64(l.Job), 10)
	b = append(b, `,"attempt":`...)
	b = strconv.AppendInt(b, int64(l.Attempt), 10)
	b = append(b, `,"fence":`...)
	b = strconv.AppendInt(b, int64(l.Fence), 10)
	b = append(b, `,"args":`...)
	if l.HasArgs {
		b = appendText(b, l.Args)
	} else {
		b = append(b, "null"...)
	}
	if l.Item != 0 {
		b = append(b, `,"item":{`...)
		for i, c := range l.Columns {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendText(b, c.Name), ':')
			b = appendText(b, c.Value)
		}
		b = append(b, '}')
	}
	if l.Vars != "" {
		var compact bytes.Buffer // a row may hold its object over several lines
		if err := json.Compact(&compact, []byte(l.Vars)); err != nil {
			return b, fmt.Errorf("vars of job %d: %w", l.Job, err)
		}
		b = append(b, `,"vars":`...)
		b = append(b, compact.Bytes()...)
	}
	if l.Key != "" {
		b = appendText(append(b, `,"key":`...), l.Key)
	}
	if l.Trace != "" {
		b = appendText(append(b, `,"traceparent":`...), l.Trace)
	}
	if l.Kept != nil {
		b = appendKept(b, l.Kept)
	}
	return append(b, '}', '\n'), nil
}

// appendText appends s as a JSON string.
func appendText(b []byte, s string) []byte {
	quoted, err := json.Marshal(s)
	if err != nil { // a string always can
		return append(b, `""`...)
	}
	return append(b, quoted...)
}
