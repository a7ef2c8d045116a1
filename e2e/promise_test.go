package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// promiseTold is what submit prints as JSON.
type promiseTold struct {
	ID      int64 `json:"id"`
	Promise struct {
		Yes       bool     `json:"promised"`
		Certainty float64  `json:"certainty"`
		Reasons   []string `json:"reasons"`
	} `json:"promise"`
}

func (e *env) promised(args ...string) (p promiseTold) {
	e.t.Helper()
	if err := json.Unmarshal([]byte(e.ok(append([]string{"submit", "-o", "json"}, args...)...)), &p); err != nil {
		e.t.Fatal(err)
	}
	return p
}

// TestPromise_IsAskedWatchedAndKept: a promise is asked before a job is submitted. One that holds is kept, one that
// cannot be is refused with its reasons, and one that comes into danger is told.
func TestPromise_IsAskedWatchedAndKept(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve("hosts:\n  - {name: local, slots: 1}\n" + agents("type: pause, command: [sleep], mode: exec"))
	says := func(code int, words string, args ...string) {
		t.Helper()
		r := e.run(append([]string{"submit"}, args...)...)
		if r.code != code || !strings.Contains(r.stderr, words) || r.stdout != "" {
			t.Errorf("%q: %d %s%s", args, r.code, r.stdout, r.stderr)
		}
	}
	says(2, "is over", "pause", "0", "--by", "2020-01-01 06:00")
	says(2, "more than a year", "pause", "0", "--by", "+9999d")
	says(2, "no time zone", "pause", "0", "--by", "06:00 Nowhere/City")
	says(2, "want 06:00", "pause", "0", "--by", "soon")
	says(2, "none is asked for", "pause", "0", "--anyway")
	says(7, "no job of type pause has ended yet", "pause", "0", "--by", "+1h")
	says(7, "unknown_type", "nothing", "--by", "+1h")
	says(7, "it is held", "pause", "0", "--hold", "--by", "+1h")
	for range 5 {
		e.ok("submit", "pause", "0.5", "--wait")
	}
	e.eventually("it is known how long they take", "select count(*) > 0 from bellhop.sketch where what = 'took'")
	says(7, "such a job takes about", "pause", "0.5", "--by", "+100ms")
	failed := strings.TrimSpace(e.ok("submit", "pause", "never"))
	e.eventually("a job has failed", "select exists (select from bellhop.jobqueue where id = "+failed+" and state = 'failed')")
	says(7, "it needs job "+failed+", which ended as failed", "pause", "0", "--after", failed, "--by", "+1h")

	conn, err := pgx.Connect(t.Context(), e.url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), "listen bellhop_promise"); err != nil {
		t.Fatal(err)
	}
	heard := func(job int64, what string) {
		t.Helper()
		for {
			n, err := conn.WaitForNotification(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var told struct {
				Job  int64  `json:"job"`
				What string `json:"what"`
			}
			if err := json.Unmarshal([]byte(n.Payload), &told); err != nil {
				t.Fatal(err)
			}
			if told.Job == job && told.What == what {
				return
			}
		}
	}
	kept := e.promised("pause", "0.5", "--by", "+10m")
	if !kept.Promise.Yes || kept.Promise.Certainty < .9 {
		t.Errorf("%+v", kept)
	}
	heard(kept.ID, "kept")
	e.because(kept.ID, "promised/kept")
	has(t, e.ok("explain", fmt.Sprint(kept.ID)), "promised", "that was kept")

	// A job that takes for ever has the only slot.
	holder := e.insert("type, args", "pause", "600")
	e.waitState(holder, "running")
	late := e.promised("pause", "0.5", "--by", "+5m")
	e.because(late.ID, "promised", "with a certainty of")
	e.sql("insert into bellhop.jobqueue (type, args, priority) select 'pause', '0.5', -5 from generate_series(1, 1200)")
	heard(late.ID, "in_danger")
	e.because(late.ID, "promise_in_danger", "ends about")
	has(t, e.ok("show", fmt.Sprint(late.ID)), "promised by", "in danger")
	says(7, "jobs of type pause start before it", "pause", "0.5", "--by", "+5m", "--priority", "5")
	says(7, "it would never run", "pause", "0.5", "--by", "+1d", "--priority", "5", "--not-after", "+30s")
	missed := e.promised("pause", "0.5", "--by", time.Now().Add(15*time.Second).UTC().Format(time.RFC3339), "--anyway")
	if missed.Promise.Yes || len(missed.Promise.Reasons) == 0 {
		t.Errorf("%+v", missed)
	}
	heard(missed.ID, "missed")
	e.because(missed.ID, "promised/missed")
	e.ok("cancel", fmt.Sprint(late.ID))
	heard(late.ID, "void")
	e.because(late.ID, "promised/void")
	unasked := e.insert("type, args", "pause", "0.5")
	e.sql("select bellhop.promise($1, now() + interval '1 day')", unasked)
	e.because(unasked, "promised/unknown")
}
