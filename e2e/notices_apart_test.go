package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// receiver is a server of webhooks that counts by id what it was posted, and answers as it is told.
type receiver struct {
	*httptest.Server
	mu   sync.Mutex
	got  map[string]int
	most int // requests at once
	now  int
}

// posted starts one; answer is called outside of its lock with how many posts there were.
func posted(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, n int)) *receiver {
	t.Helper()
	p := &receiver{got: map[string]int{}}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.got[r.Header.Get("Webhook-Id")]++
		p.now++
		p.most = max(p.most, p.now)
		n := 0
		for _, times := range p.got {
			n += times
		}
		p.mu.Unlock()
		answer(w, r, n)
		p.mu.Lock()
		p.now--
		p.mu.Unlock()
	}))
	t.Cleanup(p.Close)
	return p
}

// posts are how many messages came, how many times one came again, and how many were under way at once.
func (p *receiver) posts() (messages, again, most int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, times := range p.got {
		again += times - 1
	}
	return len(p.got), again, p.most
}

// letters puts messages into the queue as ended runs would, to each target.
func (e *env) letters(n int, channel string, targets ...string) {
	e.t.Helper()
	for _, target := range targets {
		e.sql(`insert into bellhop.notice (run, workflow, project, state, ended_at, channel, target, needs, until)
			select 1, 'w', '', 'failed', now(), $1, $2, $1, now() + interval '1 day' from generate_series(1, $3)`, channel, target, n)
	}
	e.sql("notify bellhop_due")
}

func hang(release chan struct{}) func(http.ResponseWriter, *http.Request, int) {
	return func(_ http.ResponseWriter, r *http.Request, _ int) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}
}

func answers(status int) func(http.ResponseWriter, *http.Request, int) {
	return func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(status) }
}

// A receiver that hangs keeps nothing from the others: all of theirs, mail too, is sent and marked while it hangs, and
// no more than four messages are under way to it.
func TestNotices_AReceiverThatHangsDelaysNobodyElse(t *testing.T) {
	t.Parallel()
	e := setup(t)
	release := make(chan struct{})
	bad, good := posted(t, hang(release)), posted(t, answers(http.StatusNoContent))
	t.Cleanup(func() { close(release) }) // before the server is closed
	port := e.smtp()
	e.serve(shAgent + "smtp: {url: \"smtp://127.0.0.1:" + port + "\", from: bellhop@example.org}\nnotifications: {webhooks: [\"" +
		bad.URL + "/\", \"" + good.URL + "/\"]}\n")
	e.letters(60, "webhook", bad.URL+"/a", bad.URL+"/b") // they stand in front
	e.letters(60, "webhook", good.URL+"/x")
	e.letters(5, "mail", "ops@example.org")
	e.eventually("what others get is sent", "select count(*) = 65 from bellhop.notice where status = 'sent'")
	if n, _, _ := good.posts(); n != 60 {
		t.Errorf("the other one has %d messages", n)
	}
	if got := value[int](e, "select count(*)::int from bellhop.notice where status <> 'waiting' and target like $1", bad.URL+"%"); got != 0 {
		t.Errorf("%d messages to the one that hangs have ended: the others were not sent while it hung", got)
	}
	if n, _, most := bad.posts(); n < 1 || most > 4 {
		t.Errorf("the one that hangs has %d messages, %d at once", n, most)
	}
}

// The instance is killed in the middle: what others have been sent was marked at once, so that few come twice, however
// long another receiver hangs.
func TestNotices_KilledBesideAReceiverThatHangs(t *testing.T) {
	t.Parallel()
	e := setup(t)
	release, half := make(chan struct{}), make(chan struct{})
	bad := posted(t, hang(release))
	t.Cleanup(func() { close(release) })
	var once sync.Once
	good := posted(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		w.WriteHeader(http.StatusNoContent)
		if n == 100 {
			once.Do(func() { close(half) })
		}
	})
	config := shAgent + "notifications: {webhooks: [\"" + bad.URL + "/\", \"" + good.URL + "/\"]}\n"
	first := e.serve(config)
	e.letters(10, "webhook", bad.URL+"/a")
	e.letters(300, "webhook", good.URL+"/x")
	select {
	case <-half:
	case <-time.After(patience):
		t.Fatal("a hundred messages did not come")
	}
	first.kill()
	e.serve(config)
	e.eventually("all is sent", "select count(*) = 300 from bellhop.notice where status = 'sent'")
	if n, again, _ := good.posts(); n != 300 || again > 4 {
		t.Errorf("%d messages came, %d of them twice: at most the four that were under way may", n, again)
	}
}

// A receiver that says when to come again is left alone until then; one that is gone gets nothing any more, and that
// is said.
func TestNotices_RetryAfterAndGone(t *testing.T) {
	t.Parallel()
	e := setup(t)
	busy := posted(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		w.Header().Set("Retry-After", map[bool]string{true: "1800", false: "999999"}[n == 1])
		w.WriteHeader(http.StatusTooManyRequests)
	})
	gone := posted(t, answers(http.StatusGone))
	e.serve(shAgent + "notifications: {webhooks: [\"" + busy.URL + "/\", \"" + gone.URL + "/\"]}\n")
	e.letters(1, "webhook", busy.URL+"/x")
	e.eventually("it was asked to wait", "select error like '%429%left alone for 30m%' and next_at - now() between '29 min' and '30 min' from bellhop.notice")
	e.letters(1, "webhook", busy.URL+"/y") // of the same host
	e.letters(20, "webhook", gone.URL+"/x")
	e.eventually("what is gone is given up", "select count(*) = 20 from bellhop.notice where status = 'given_up' and error like '%410 Gone%'")
	if n, _, _ := busy.posts(); n != 1 {
		t.Errorf("%d posts to the one that wants none", n)
	}
	posts, _, _ := gone.posts()
	if posts > 4 {
		t.Errorf("%d posts to the one that is gone", posts)
	}
	has(t, e.ok("workflow", "notify", "messages", "-s", "given_up"), "410 Gone", "sent again by hand")
	// A run that ends later is not told there, and says so; a message that is sent by hand goes out.
	e.file("w.yaml", "workflow: later\nsteps: [{name: a, type: sh, args: \"exit 1\"}]\nnotify: [{webhook: \""+gone.URL+"/x\"}]\n", 0o600)
	e.ok("workflow", "apply", filepath.Join(e.dir, "w.yaml"))
	e.run("workflow", "run", "later", "--wait")
	e.eventually("it is not posted", "select count(*) = 1 from bellhop.notice where workflow = 'later' and tries = 0 and status = 'given_up' and error like 'not posted: this URL answered 410 Gone at %'")
	if n, _, _ := gone.posts(); n != posts {
		t.Errorf("%d posts after it was gone, %d before", n, posts)
	}
	id := strings.TrimSpace(fmt.Sprint(value[int64](e, "select id from bellhop.notice where workflow = 'later'")))
	e.ok("workflow", "notify", "again", id)
	e.eventually("it was posted by hand", "select tries = 1 and status = 'given_up' from bellhop.notice where workflow = 'later'")
}
