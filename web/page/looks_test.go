package page

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// look writes a page to testdata/looks, where a person looks at it (-update): the whole of it, or what the window
// shows.
func (b *browser) look(name string, whole bool) {
	b.Helper()
	if !whole {
		b.shot("looks", name)
	}
	if !*update || !whole {
		return
	}
	var png []byte
	b.run(chromedp.FullScreenshot(&png, 100))
	if err := os.WriteFile(filepath.Join("testdata", "looks", name+".png"), png, 0o644); err != nil {
		b.Fatal(err)
	}
}

// busy adds to the scene what a shop's queue has on a day when much goes on: what runs, waits for locks, is paused and
// held, workflows with runs, an order for many.
func (b *browser) busy() {
	b.Helper()
	b.scene()
	b.exec(`update bellhop.agent set trouble = '{"big1": "cannot start: exit status 127"}' where type = 'thumbnail'`)
	b.exec(`insert into bellhop.agent_words values (1, 'thumbnail', '{"big1": "thumbnail: libvips.so.42: cannot open shared object file"}')`)
	b.exec(`insert into bellhop.agent (instance, type, mode, dialect, command, max, max_per_host)
		values (1, 'report', 'spawn', 'json', '/opt/shop/bin/report --quarterly', 2, 2)`)
	b.exec(`insert into bellhop.paused (type, paused_by) values ('report', 'ann')`)
	b.exec(`insert into bellhop.jobqueue (type, key, run_at) select 'report', 'quarter.' || g, now() + g * interval '7 min'
		from generate_series(1, 5) g`)
	b.exec(`insert into bellhop.jobqueue (type, key, state, attempt, fence, instance, host, child, started_at, progress, progress_text)
		select 'mail', 'letter.' || g, 'running', 1, 1, 1, case when g = 1 then 'big1' else 'local' end, 'mail.' || g,
		       now() - g * interval '40 s', g * 0.2, 'page ' || g from generate_series(1, 3) g`)
	b.exec(`insert into bellhop.child (instance, host, name, type, state, pid, job, since, done, deaths)
		select 1, host, child, type, 'RUNNING', 4000 + id % 100, id, started_at, 40 * (id % 7), 0 from bellhop.jobqueue where state = 'running'`)
	b.exec(`insert into bellhop.child (instance, host, name, type, state, pid, since, done, deaths)
		values (1, 'local', 'mail.4', 'mail', 'READY', 4100, now() - interval '12 s', 17, 1)`)
	b.exec(`insert into bellhop.jobqueue (type, key, locks, behind)
		values ('etl', 'load orders', '{db:orders=exclusive}', 'db:orders'), ('etl', 'tidy orders', '{db:orders=shared}', 'db:orders')`)
	b.exec(`set session_replication_role = replica`)
	b.exec(`insert into bellhop.lock_grant (level, name, job, fence, mode, instance)
		select 'db', 'orders', min(id), 1, 'exclusive', 1 from bellhop.jobqueue where state = 'running'`)
	b.exec(`insert into bellhop.lock_wait (level, name, job, fence, mode, instance)
		select 'db', 'orders', id, 0, case when key like 'load%' then 'exclusive' else 'shared' end, 1 from bellhop.jobqueue where type = 'etl'`)
	b.exec(`set session_replication_role = origin`)
	b.exec(`select bellhop.workflow_apply('{"workflow": "nightly", "project": "shop", "sensor": {"cron": "0 3 * * *"}, "steps": [
		{"name": "extract", "type": "etl", "args": "orders"}, {"name": "check", "type": "etl", "after": ["extract"]},
		{"name": "bill", "type": "mail", "after": ["check"]}, {"name": "ship", "type": "mail", "after": ["check"]},
		{"name": "report", "type": "report", "after": ["bill", "ship"]}]}')`)
	b.exec(`select bellhop.workflow_apply('{"workflow": "import", "steps": [{"name": "fetch", "type": "etl"}]}')`)
	b.exec(`select bellhop.workflow_run('nightly')`)
	b.exec(`update bellhop.jobqueue set state = 'running', attempt = 1, fence = 1, started_at = now() - interval '90 s'
		where run = 1 and step = 'extract'`)
	b.exec(`update bellhop.jobqueue set state = 'succeeded', ended_at = now() - interval '20 s' where run = 1 and step = 'extract'`)
	b.exec(`select bellhop.ended(array(select id from bellhop.jobqueue where run = 1 and step = 'extract'))`)
	b.exec(`select bellhop.workflow_run('import')`)
	b.exec(`update bellhop.jobqueue set state = 'running', attempt = 1, fence = 1, started_at = now() - interval '9 s'
		where run = 2 and step = 'fetch'`)
	b.exec(`update bellhop.jobqueue set state = 'failed', ended_at = now(), error = 'ftp.example.org: no route to host'
		where run = 2 and step = 'fetch'`)
	b.exec(`select bellhop.ended(array(select id from bellhop.jobqueue where run = 2 and step = 'fetch'))`)
	b.exec(`insert into bellhop.notice_rule (project, prefix, mail, changed_by) values ('shop', '', '{ops@example.org}', 'ann')`)
	b.exec(`insert into bellhop.history select date_trunc('minute', now()) - g * interval '1 min', type, 1, taken, taken - bad, bad, 0, 0, 0, 0,
		'{200,40,260,9}', '{300,50}' from (values ('mail', 90, 0), ('thumbnail', 40, 3)) t (type, taken, bad), generate_series(1, 50) g
		where g % 11 > 2 or type = 'mail'`)
	b.exec(`create table image (id integer primary key, file text, dispatch timestamptz);
		create table letter (id integer primary key, sent date);
		create table scan (id integer primary key, dispatch timestamptz);
		create table invoice (id integer primary key, dispatch timestamptz)`)
	b.exec(`select bellhop.attach('image', cmd => '{/opt/shop/bin/thumbnail,--width,200}', pool => 4),
		bellhop.attach('letter', type => 'mail', pool => 2, dispatch => 'sent'), bellhop.attach('scan', cmd => '{/opt/shop/bin/ocr}', pool => 2),
		bellhop.attach('invoice', cmd => '{/opt/shop/bin/bill}', pool => 0)`)
	b.exec(`drop table scan`)
	b.exec(`update bellhop.attachment set waiting = 10001, waiting_at = now(), done = 48210, failed = 17,
		rate = 38.2, rate_since = now(), rate_ended = 40 where name = 'image'`)
	b.exec(`update bellhop.attachment set waiting = 3, waiting_at = now(), done = 912 where name = 'letter'`)
	b.exec(`insert into bellhop.set_aside (attachment, digest, key, reason, outcome, again_at)
		select id, sha256('7'), '7', 'new row for relation "letter" violates check constraint "sent_later"', false, now()
		from bellhop.attachment where name = 'letter'`)
	b.exec(`select bellhop.operation_plan('hold', '{"type": ["mail"]}')`)
	b.exec(`select bellhop.operation_plan('retry', '{"type": ["thumbnail"], "key": "image.1"}')`)
	b.exec(`select bellhop.operation_start(2)`)
	b.exec(`select bellhop.operation_step(2)`)
}

// scheme makes the window one of a light or a dark desktop.
func (b *browser) scheme(name string, width int64) {
	b.Helper()
	b.run(chromedp.EmulateViewport(width, 800), emulation.SetEmulatedMedia().WithFeatures(
		[]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}))
}

// Every kind of page, light, dark and narrow: testdata/looks has what a shop's queue looks like on each. All text can
// be read, and no page is wider than the window.
func TestBrowser_LightDarkAndNarrow(t *testing.T) {
	t.Parallel()
	b := openBrowser(t)
	b.busy()
	running := b.one(`select min(id)::text from bellhop.jobqueue where state = 'running'`)
	step := b.one(`select min(id)::text from bellhop.jobqueue where run = 1`)
	waiting := b.one(`select max(id)::text from bellhop.jobqueue where type = 'etl' and run is null`)
	pages := [][2]string{
		{"overview", "/"}, {"jobs", "/jobs?state=failed"}, {"job", "/jobs/5002"}, {"job-running", "/jobs/" + running},
		{"job-waiting", "/jobs/" + waiting},
		{"graph", "/jobs/" + step + "/graph"}, {"failures", "/failures"}, {"types", "/types"}, {"type", "/types/thumbnail"}, {"locks", "/locks"}, {"hosts", "/hosts"},
		{"workflows", "/workflows"}, {"workflow", "/workflows/nightly"}, {"run", "/runs/1"}, {"run-failed", "/runs/2"},
		{"notifications", "/notifications"}, {"attachments", "/attachments"}, {"operations", "/operations"}, {"operation", "/operations/1"}, {"system", "/system"}, {"prune", "/prune?older=1s&state=failed&state=cancelled"},
		{"yourself", "/jobs?state=failed&type=etl"}, {"not-found", "/jobs/999999"}, {"old-link", "/login/old"}}
	b.run(chromedp.Navigate(b.link))
	b.until(`location.pathname === '/' && !!document.getElementById('main')`)
	for _, look := range []struct {
		scheme, dark string
		width        int64
	}{{"light", "false", 1280}, {"dark", "true", 1280}, {"light", "false", 360}, {"dark", "true", 360}} {
		b.scheme(look.scheme, look.width)
		for _, page := range pages {
			name := fmt.Sprintf("%s-%s-%d", page[0], look.scheme, look.width)
			b.run(chromedp.Navigate(b.base + page[1]))
			b.until(`!!document.body`)
			if page[0] == "yourself" {
				b.run(chromedp.Evaluate(`document.querySelector('.yourself').open = true`, nil))
			}
			dark := b.eval(`String(getComputedStyle(document.documentElement).backgroundColor.match(/\d+/g).slice(0, 3).every((c) => c < 80))`)
			if dark != look.dark {
				t.Errorf("%s: it is dark: %s", name, dark)
			}
			if bad := b.eval(faint); bad != "" {
				t.Errorf("%s:\n%s", name, bad)
			}
			if look.width > 1000 || look.scheme == "light" {
				b.look(name, !strings.HasPrefix(name, "jobs-"))
			}
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, said := range b.noise {
		if !strings.Contains(said, "status of 40") { // of the two that are refused
			t.Error(said)
		}
	}
}
