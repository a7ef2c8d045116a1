package api_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func unmarshal(text string, v any) error { return json.Unmarshal([]byte(text), v) }

// Whatever stands in a filter, a path or a body is answered, refused or not found.
func TestInput_NothingIsAnErrorOfOurs(t *testing.T) {
	t.Parallel()
	s := open(t)
	hostile := []string{
		"",
		"\x00",
		"'",
		`"`,
		"%",
		"_",
		"\\",
		"<img src=x onerror=alert(1)>",
		"</script>",
		"\u202egpj.exe",
		"\xff\xfe",
		"9223372036854775808",
		"-1",
		"1e9",
		"null",
		"{}",
		"[]",
		"key:",
		"key:\x00",
		"2026-13-45T00:00:00Z",
		"infinity",
		strings.Repeat("é", 3000),
		"; drop table bellhop.jobqueue --",
		"\x1b[31m",
		"../../etc/passwd",
		"a/b?c#d",
	}
	names := []string{
		"state",
		"type",
		"key",
		"error",
		"run",
		"host",
		"created_after",
		"created_before",
		"limit",
		"cursor",
		"nope",
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		q := url.Values{}
		for range 1 + random.IntN(3) {
			q.Add(names[random.IntN(len(names))], hostile[random.IntN(len(hostile))])
		}
		for _, path := range []string{"/jobs?", "/operations?", "/runs?", "/workflows?"} {
			if status, text := s.ask("operator", "GET", path+q.Encode(), ""); status >= 500 {
				t.Fatalf("%s%s: %d: %s", path, q.Encode(), status, text)
			}
		}
	}
	for _, word := range hostile {
		for _, path := range []string{"/jobs/", "/jobs/key:", "/workflows/", "/runs/", "/operations/", "/types/"} {
			for _, tail := range []string{"", "/explain", "/cancel", "/pause", "/run"} {
				for _, method := range []string{"GET", "POST"} {
					if status, text := s.ask("operator", method, path+url.PathEscape(word)+tail, ""); status >= 500 {
						t.Errorf("%s %s%q%s: %d: %s", method, path, word, tail, status, text)
					}
				}
			}
		}
		job, err := json.Marshal(
			map[string]any{"type": word, "args": word, "key": word, "run_on": word, "locks": []string{word}},
		)
		if err != nil {
			t.Fatal(err)
		}
		if status, text := s.ask("submitter", "POST", "/jobs", string(job)); status >= 500 {
			t.Errorf("a job of %q: %d: %s", word, status, text)
		}
	}
	big := fmt.Sprintf(`{"type": "sh", "args": %q}`, strings.Repeat("x", 1<<20))
	s.must(http.StatusCreated, "submitter", "POST", "/jobs", big)
	bigger := fmt.Sprintf(`{"type": "sh", "args": %q}`, strings.Repeat("x", 3<<20))
	if status, _ := s.ask("submitter", "POST", "/jobs", bigger); status != 413 {
		t.Errorf("3 MiB: %d", status)
	}
	deep := strings.Repeat("[", 10_000)
	for _, body := range []string{"", "null", "[", "1", `"x"`, `{"type": 1}`, `{"type": "sh", "argz": 1}`, "\x00", deep} {
		if status, text := s.ask("submitter", "POST", "/jobs", body); status < 400 || status >= 500 {
			t.Errorf("a body of %.20q: %d: %s", body, status, text)
		}
	}
}

// A page goes on where the one before ended; a cursor is that of one filter.
func TestInput_Cursors(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.exec(
		"insert into bellhop.jobqueue (type, held) select case when n % 2 = 0 then 'a' else 'b' end, true from generate_series(1, 130) n",
	)
	seen, cursor := 0, ""
	last := int64(1 << 60)
	for {
		var page struct {
			Jobs []struct {
				ID   int64
				Type string
			}
			Cursor *string
		}
		if err := unmarshal(s.must(200, "reader", "GET", "/jobs?type=a&limit=20"+cursor, ""), &page); err != nil {
			t.Fatal(err)
		}
		for _, j := range page.Jobs {
			if j.ID >= last || j.Type != "a" {
				t.Errorf("job %d of type %s after %d", j.ID, j.Type, last)
			}
			last, seen = j.ID, seen+1
		}
		if page.Cursor == nil {
			break
		}
		cursor = "&cursor=" + *page.Cursor
		if status, _ := s.ask("reader", "GET", "/jobs?type=b&limit=20"+cursor, ""); status != 422 {
			t.Errorf("under another filter: %d", status)
		}
	}
	if seen != 65 {
		t.Errorf("%d jobs were shown, of 65", seen)
	}
	for _, forged := range []string{"x", "AAAAAAAAAAAAAAAAAAAAAA", strings.Repeat("A", 99)} {
		if status, _ := s.ask("reader", "GET", "/jobs?cursor="+forged, ""); status != 422 {
			t.Errorf("cursor %s: %d", forged, status)
		}
	}
}

// The key makes a request that is sent twice the same one.
func TestInput_IdempotencyKey(t *testing.T) {
	t.Parallel()
	s := open(t)
	body := `{"type": "sh", "args": "exit 0"}`
	first := s.must(201, "submitter", "POST", "/jobs", body, "Idempotency-Key", "k1")
	if again := s.must(200, "submitter", "POST", "/jobs", body, "Idempotency-Key", "k1"); again != first {
		t.Errorf("%s, then %s", first, again)
	}
	s.must(409, "submitter", "POST", "/jobs", `{"type": "sh", "args": "exit 1"}`, "Idempotency-Key", "k1")
	s.must(422, "submitter", "POST", "/jobs", `{"type": "sh", "key": "k2"}`, "Idempotency-Key", "k1")
	day := `{"type": "sh", "key": "daily", "per": "8760h"}`
	first = s.must(201, "submitter", "POST", "/jobs", day)
	if again := s.must(200, "submitter", "POST", "/jobs", day); again != first {
		t.Errorf("of a period %s, then %s", first, again)
	}
	s.must(201, "submitter", "POST", "/jobs", `{"type": "sh", "key": "open", "once": "open"}`)
	s.exec("update bellhop.jobqueue set state = 'cancelled', ended_at = now() where key = 'open'")
	s.must(201, "submitter", "POST", "/jobs", `{"type": "sh", "key": "open", "once": "open"}`)
	s.must(200, "submitter", "POST", "/jobs", `{"type": "sh", "key": "open", "once": "open", "replace": true}`)
	s.exec("delete from bellhop.jobqueue where key is distinct from 'k1'")
	// A batch is all or nothing, and says which line is wrong.
	text := s.must(
		409,
		"submitter",
		"POST",
		"/jobs/batch",
		`{"type": "sh", "key": "fresh"}`+"\n"+`{"type": "sh", "args": "exit 2", "key": "k1"}`,
		"Content-Type",
		"application/x-ndjson",
	)
	if !strings.Contains(text, "line 2: ") || value[int](s, "select count(*) from bellhop.jobqueue") != 1 {
		t.Error(text)
	}
	text = s.must(422, "submitter", "POST", "/jobs/batch", "\n\n"+`{"type": "sh", "locks": ["bad"]}`, "Content-Type", "application/x-ndjson")
	if !strings.Contains(text, "line 3: ") { // the server refuses it, which knows nothing of blank lines
		t.Error(text)
	}
	text = s.must(422, "submitter", "POST", "/jobs/batch", `{"type": "sh", "priority": "high"}`,
		"Content-Type", "application/x-ndjson")
	if !strings.Contains(text, "line 1: priority cannot be a string") {
		t.Error(text)
	}
}

// Readers see that a job failed, and not what its agent said of it.
func TestInput_ReadersSeeNoPayload(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.must(201, "operator", "POST", "/jobs", `{"type": "sh", "args": "hunter2", "vars": {"V": "hunter2"}}`)
	s.exec(`update bellhop.jobqueue set state = 'failed', attempt = 1, started_at = now(), ended_at = now(), exit_code = 1,
		error = 'exit status 1: hunter2', result = '"hunter2"', progress_text = 'hunter2'`)
	s.exec("insert into bellhop.log (job, attempt, level, line) values (1, 1, 'err', 'hunter2')")
	for _, path := range []string{"/jobs", "/jobs/1", "/jobs/1/explain", "/jobs/1/attempts", "/jobs/1/trace", "/jobs/1/graph", "/jobs/1/wait",
		"/jobs/1/items", "/jobs/1/payload", "/jobs/1/logs", "/failures", "/jobs?error=hunter"} {
		if _, text := s.ask("reader", "GET", path, ""); strings.Contains(text, "hunter2") {
			t.Errorf("%s: %s", path, text)
		}
		if _, text := s.ask("operator", "GET", path, ""); path == "/jobs/1/logs" && !strings.Contains(text, "hunter2") {
			t.Errorf("operators: %s: %s", path, text)
		}
	}
	if text := s.must(200, "reader", "GET", "/jobs?error=hunter", ""); !strings.Contains(text, `"jobs":[]`) {
		t.Errorf("a filter looks where its reader does not: %s", text)
	}
}

// PATCH goes by what was read.
func TestInput_IfMatch(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.must(201, "operator", "POST", "/jobs", `{"type": "sh", "held": true}`)
	_, _, header := s.answer("operator", "GET", "/jobs/1", "")
	tag := header.Get("ETag")
	s.must(200, "operator", "PATCH", "/jobs/1", `{"priority": 5}`, "If-Match", tag)
	s.must(412, "operator", "PATCH", "/jobs/1", `{"priority": 6}`, "If-Match", tag)
	s.must(200, "operator", "PATCH", "/jobs/1", `{"priority": 7}`)
	if p := value[int](s, "select priority from bellhop.jobqueue"); p != 7 {
		t.Errorf("priority %d", p)
	}
}

// What only some may see of a job is part of what was read: two who change it do not undo each other's work unseen.
func TestInput_IfMatchMeansAllThatIsChanged(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.must(201, "submitter", "POST", "/jobs", `{"type": "sh", "held": true, "msq": "select 0"}`)
	s.must(201, "submitter", "POST", "/jobs", `{"type": "sh", "held": true, "args": "0"}`)
	tag := func(role, path string) string {
		_, _, header := s.answer(role, "GET", path, "")
		return header.Get("ETag")
	}
	for _, c := range []struct{ path, one, other string }{
		{"/jobs/2", `{"args": "1"}`, `{"args": "2"}`}, {"/jobs/1", `{"msq": "select 1"}`, `{"msq": "select 2"}`},
		{"/jobs/1", `{"vars": {"a": "1"}}`, `{"vars": {"a": "2"}}`}, {"/jobs/1", `{"timeout": "1m"}`, `{"timeout": "2m"}`},
	} {
		for _, role := range []string{"operator", "submitter"} {
			read, seen := tag(role, c.path), tag("reader", c.path)
			s.must(200, role, "PATCH", c.path, c.one, "If-Match", read)
			s.must(412, role, "PATCH", c.path, c.other, "If-Match", read)
			s.must(200, role, "PATCH", c.path, c.other, "If-Match", tag(role, c.path))
			if tag("reader", c.path) != seen {
				t.Errorf("%s: the tag of a reader tells of %s", c.path, c.other)
			}
		}
	}
}

// All of a job that waits can be changed but what it is.
func TestInput_ChangesAllOfAJob(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.must(201, "submitter", "POST", "/jobs", `{"type": "sh", "held": true, "msq": "select 2"}`)
	s.must(200, "submitter", "PATCH", "/jobs/1",
		`{"not_after": "2100-01-02T03:04:05Z", "run_on": "far", "vars": {"DAY": "1"}, "msq": "select 1", "on_failure": "block"}`)
	want := "2100-01-02 03:04:05+00 far {\"DAY\": \"1\"} select 1 block"
	if got := value[string](s, `select concat_ws(' ', not_after, run_on, vars, msq, on_failure) from bellhop.jobqueue`); got != want {
		t.Errorf("it is %s, not %s", got, want)
	}
	text := s.must(422, "submitter", "PATCH", "/jobs/1", `{"on_failure": "cry"}`)
	if !strings.Contains(text, "fail, block, run") || !strings.Contains(text, "on_failure") {
		t.Errorf("of a word that nobody knows it says %s", text)
	}
}

// A batch is a job that runs when those that have joined it are over.
func TestInput_JobsJoinABatch(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.must(201, "submitter", "POST", "/jobs", `{"type": "report", "on_failure": "run", "held": true}`)
	s.must(201, "submitter", "POST", "/jobs", `{"type": "mail", "batch": 1}`)
	s.must(201, "submitter", "POST", "/jobs/batch", `{"type": "mail", "batch": 1}`+"\n"+`{"type": "mail", "batch": 1}`,
		"Content-Type", "application/x-ndjson")
	if text := s.must(200, "submitter", "GET", "/jobs/1/batch", ""); !strings.Contains(text, `"jobs":3,"waiting":3`) {
		t.Errorf("the batch is %s", text)
	}
	if text := s.must(404, "submitter", "POST", "/jobs", `{"type": "mail", "batch": 99}`); !strings.Contains(text, "99") {
		t.Errorf("of a batch that is none it says %s", text)
	}
}
