package agents

import (
	"encoding/json"
	"strings"
	"testing"

	"bellhop/scheduler"
)

func TestClassic_Words(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]remark{
		"OK":                   {word: wordOK},
		"OK 3 files":           {word: wordOK},
		"OK\r":                 {word: wordOK},
		"OKAY":                 {word: wordDebug, text: []byte("OKAY")},
		"OK:":                  {word: wordDebug, text: []byte("OK:")},
		" OK":                  {word: wordDebug, text: []byte(" OK")},
		"ok":                   {word: wordDebug, text: []byte("ok")},
		"":                     {},
		" \t":                  {},
		"ERROR":                {word: wordLog, level: scheduler.LevelError},
		"ERROR disk full":      {word: wordLog, level: scheduler.LevelError, text: []byte("disk full")},
		"ERROR: disk full":     {word: wordLog, level: scheduler.LevelError, text: []byte("disk full")},
		"ERRORS":               {word: wordDebug, text: []byte("ERRORS")},
		"FATAL no":             {word: wordLog, level: scheduler.LevelError, text: []byte("FATAL no")},
		"WARNING: no":          {word: wordLog, level: scheduler.LevelInfo, text: []byte("WARNING: no")},
		"LOG:text":             {word: wordLog, level: scheduler.LevelInfo, text: []byte("text")},
		"Success":              {word: wordSuccess},
		"Success: 3":           {word: wordSuccess},
		"ECHO  two blanks":     {word: wordEcho, text: []byte(" two blanks")},
		"DB: SELECT 1;":        {word: wordDB, text: []byte("SELECT 1;")},
		"DB is up":             {word: wordDebug, text: []byte("DB is up")},
		"Heartbeat":            {},
		"Heartbeat: 3":         {},
		"ItemsProcessed 17":    {word: wordItems, n: 17},
		"ItemsProcessed: 17":   {word: wordItems, n: 17},
		"ItemsProcessed":       {word: wordDebug, text: []byte("ItemsProcessed")},
		"ItemsProcessed -1":    {word: wordDebug, text: []byte("ItemsProcessed -1")},
		"FATAL: no":            {word: wordLog, level: scheduler.LevelError, text: []byte("FATAL: no")},
		"WARNING no":           {word: wordLog, level: scheduler.LevelInfo, text: []byte("WARNING no")},
		"ECHO:x":               {word: wordEcho, text: []byte("x")},
		"DB:SELECT 1":          {word: wordDB, text: []byte("SELECT 1")},
		`{"bellhop":1}`:        {word: wordDebug, text: []byte(`{"bellhop":1}`)},
		"anything else at all": {word: wordDebug, text: []byte("anything else at all")},
	} {
		got := parseClassic([]byte(said))
		if got.word != want.word || got.n != want.n || got.level != want.level || string(got.text) != string(want.text) {
			t.Errorf("%q means %+v, want %+v", said, got, want)
		}
	}
}

func TestJSON_JobHasAllThatThereIs(t *testing.T) {
	t.Parallel()
	l := line(7, "a\"b\n")
	b, err := encodeJSON(nil, &l)
	if err != nil || string(b) != `{"id":7,"attempt":1,"fence":70,"args":"a\"b\n"}`+"\n" {
		t.Errorf("job is %s, %v", b, err)
	}
	l = scheduler.Line{Claim: l.Claim, Attempt: 2, Item: 4, HasArgs: true, Args: `pk="3"`, Key: "k", Trace: "00-x", Vars: "{\"A\":\n \"b\"}",
		Columns: []scheduler.Column{{Name: "pk", Value: "3"}, {Name: "path", Value: "/a b"}}}
	b, err = encodeJSON(nil, &l)
	want := `{"id":7,"attempt":2,"fence":70,"args":"pk=\"3\"","item":{"pk":"3","path":"/a b"},"vars":{"A":"b"},"key":"k","traceparent":"00-x"}` + "\n"
	if err != nil || string(b) != want {
		t.Errorf("job is %s, %v", b, err)
	}
	if b, err = encodeJSON(nil, &scheduler.Line{}); err != nil || !strings.Contains(string(b), `"args":null`) {
		t.Errorf("job is %s, %v", b, err)
	}
}

// Who has asked for locks may hold some, for which others wait; whoever asked
// for none with his line holds none.
func TestJSON_AnAnswerTellsWhetherLocksWereAskedFor(t *testing.T) {
	t.Parallel()
	b := setup(t, sh(t, `echo '{"bellhop":1,"type":"work"}'
while IFS= read -r job; do
 case $job in *locks*) echo '{"lock":["db:a=shared"]}'; IFS= read -r told;; esac
 echo '{"ok":true}'
done`))
	c := b.launch()
	c.await(scheduler.EventReady)
	c.feed(line(1, "plain"), line(2, "locks"), line(3, "plain"))
	for job, want := range []bool{false, true, false} {
		if ev := c.await(scheduler.EventAnswered); !ev.OK || ev.Locks != want {
			t.Errorf("answer %d is %+v", job, ev)
		}
	}
}

// pythonish is a json agent in shell: it answers by what the job's args hold.
const pythonish = `echo '{"bellhop":1,"type":"work"}'
while IFS= read -r job; do
 case $job in
 *bad*) echo '{"fail":"cannot be read","exit_code":3}';;
 *other*) echo '{"ok":true,"id":99}';;
 *id*) echo '{"log":"at it","level":"error","id":4,"fence":40}'; echo '{"progress":0.5}'; echo '{"success":true}'; echo '{"lock":"x"}'; IFS= read -r told; echo "told $told"; echo plain; echo '{"result":{"n":1},"ok":true,"id":4}';;
 esac
done`

func TestJSON_AgentAnswersAndFailsWithoutDying(t *testing.T) {
	t.Parallel()
	for _, d := range []Dialect{DialectAuto, DialectJSON} {
		spec := sh(t, pythonish)
		spec.Dialect = d
		b := setup(t, spec)
		c := b.launch()
		c.await(scheduler.EventReady)
		c.feed(line(3, "bad"), line(4, "id"))
		if ev := c.await(scheduler.EventAnswered); ev.OK || ev.ExitCode != 3 || ev.Error != scheduler.SaidFailed ||
			ev.Message != "cannot be read" {
			t.Errorf("answer is %+v", ev)
		}
		if ev := c.await(scheduler.EventAnswered); !ev.OK || ev.Successes != 1 || string(ev.Answer.Result) != `{"n":1}` {
			t.Errorf("answer is %+v", ev)
		}
		for text, level := range map[string]scheduler.Level{"at it": scheduler.LevelError,
			`told {"refused":"lock is neither`: scheduler.LevelDebug, "plain": scheduler.LevelDebug} {
			if e := b.logged(text); len(e) != 1 || e[0].Level != level || e[0].Claim.Job != 4 {
				t.Errorf("%q is kept as %+v", text, e)
			}
		}
		c.feed(line(5, "other"))
		if ev := c.await(scheduler.EventOutputClosed); !strings.Contains(ev.Told(), "another job") {
			t.Errorf("event is %+v", ev)
		}
	}
}

func TestJSON_GreetingsThatCannotBe(t *testing.T) {
	t.Parallel()
	for hello, says := range map[string]string{`{"bellhop":2,"type":"work"}`: "version 2", `{"bellhop":1,"type":"play"}`: `"play"`} {
		c := setup(t, sh(t, "echo '"+hello+"'; sleep 1000")).launch()
		if ev := c.await(scheduler.EventOutputClosed); !strings.Contains(ev.Told(), says) {
			t.Errorf("%s: event is %+v", hello, ev)
		}
	}
}

func TestClassic_AnAgentNamedClassicIsNotTakenForJSON(t *testing.T) {
	t.Parallel()
	spec := sh(t, `echo '{"bellhop":1}'; sleep 0.05; echo OK; read l; echo OK; sleep 1000`)
	spec.Dialect = DialectClassic
	b := setup(t, spec)
	c := b.launch()
	c.await(scheduler.EventReady)
	c.feed(line(1, "x"))
	c.await(scheduler.EventAnswered)
	if !strings.Contains(b.told(), `DEBUG work.1: {"bellhop":1}`) {
		t.Errorf("told %q", b.told())
	}
}

func TestCutter_CutsLinesWhereverTheChunksEnd(t *testing.T) {
	t.Parallel()
	text := "one\n\ntwo\nthree"
	for size := 1; size <= len(text); size++ {
		var c cutter
		var got []string
		hear := func(l []byte, truncated bool) { got = append(got, string(l)) }
		for at := 0; at < len(text); at += size {
			c.feed([]byte(text[at:min(at+size, len(text))]), hear)
		}
		c.flush(hear)
		c.flush(hear)
		if strings.Join(got, "|") != "one||two|three" {
			t.Errorf("chunks of %d give %q", size, got)
		}
	}
}

// A line of a classic agent never ends a job unless it is OK, and what is kept
// of it can be stored.
func FuzzClassic(f *testing.F) {
	for _, s := range []string{"OK", "OK x", "ERROR: x", "DB:", "LOG", "Success \xff\x00", " ", ":", "ECHO:"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		r := parseClassic(line)
		if r.word == wordOK && !strings.HasPrefix(string(line), "OK") {
			t.Errorf("%q is taken for OK", line)
		}
		if r.word == wordFail || len(r.text) > len(line)+20 {
			t.Errorf("%q means %+v", line, r)
		}
		if s := clean(r.text); strings.ContainsRune(s, 0) || strings.ToValidUTF8(s, "") != s {
			t.Errorf("%q cannot be stored", s)
		}
	})
}

// A json agent's line gives one answer at most, and the answer comes last.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"ok":true}`, `{"fail":"x","exit_code":-1}`, `{"log":"x","ok":true,"id":7}`, `{`, `{"ok":1}`, `[]`, `{"id":null}`, `{"progress":{"a":[1]}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		_, _, _ = parseHello(line, "work")
		said := parseJSON(line, nil)
		for i, r := range said {
			if (r.word == wordOK || r.word == wordFail) && i != len(said)-1 {
				t.Errorf("%q answers before its last word", line)
			}
			if r.word == wordFail && (r.code < 1 || r.code > 255) {
				t.Errorf("%q fails with code %d", line, r.code)
			}
		}
	})
}

// Whatever a row holds, a job is one line of JSON that reads back as it was.
func FuzzJSONJob(f *testing.F) {
	f.Add("a\nb", "k", "name", "v\"")
	f.Fuzz(func(t *testing.T, args, key, name, value string) {
		l := scheduler.Line{
			HasArgs: true,
			Args:    args,
			Key:     key,
			Item:    1,
			Columns: []scheduler.Column{{Name: name, Value: value}},
		}
		b, err := encodeJSON(nil, &l)
		if err != nil || strings.Count(string(b), "\n") != 1 {
			t.Fatalf("job is %q, %v", b, err)
		}
		var back struct {
			Args string
			Item map[string]string
		}
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		if want := strings.ToValidUTF8(args, "\uFFFD"); strings.ToValidUTF8(args, "") == args && back.Args != want {
			t.Errorf("args %q come back as %q", args, back.Args)
		}
	})
}
