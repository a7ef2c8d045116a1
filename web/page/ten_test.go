package page

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// shot writes what the window shows to a folder of testdata, where a person looks at it (-update).
func (b *browser) shot(folder, name string) {
	b.Helper()
	if !*update {
		return
	}
	var png []byte
	b.run(chromedp.CaptureScreenshot(&png))
	if err := os.MkdirAll(filepath.Join("testdata", folder), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("testdata", folder, name+".png"), png, 0o644); err != nil {
		b.Fatal(err)
	}
}

// scene makes a queue as a shop may have one.
func (b *browser) scene() {
	b.Helper()
	b.exec(`insert into bellhop.instance (name, hostname, machine, pid, process_start, version, lag)
		values ('one', 'shop1', 'm', 41, '1', 'v', '1h')`)
	b.exec(`insert into bellhop.host (instance, name, slots, serves) values (1, 'local', 4, '{}'), (1, 'big1', 8, '{srv:7}')`)
	b.exec(`insert into bellhop.agent (instance, type, mode, dialect, command, max, max_per_host) values
		(1, 'mail', 'warm', 'json', './mail.py', 4, 4), (1, 'thumbnail', 'warm', 'classic', './thumbnail', 8, 8)`)
	b.exec(`insert into bellhop.jobqueue (type, args, key)
		select 'mail', 'order ' || g, 'order.' || g from generate_series(1, 5000) g`)
	b.exec(`insert into bellhop.jobqueue (type, args, key, state, attempt, fence, host, child, created_at, started_at, ended_at, exit_code, error, reason)
		select 'thumbnail', '/srv/in/' || g || '.jpg', 'image.' || g, 'failed', 1, 1, case when g % 2 = 0 then 'big1' else 'local' end, 'thumbnail.1',
		       now() - interval '4 min', now() - interval '3 min', now() - interval '2 min', 3,
		       case when g % 5 = 0 then 'exit status 3: cannot read page ' || g else 'exit status 3: disk ' || g % 7 || ' is full' end, 'exit status 3'
		  from generate_series(1, 60) g`)
	b.exec(`insert into bellhop.log (job, attempt, child, host, level, line, at) select id, 1, child, host, 'err', error, ended_at
		from bellhop.jobqueue where state = 'failed'`)
}

// What docs/dashboard.md says that others cannot is so, and looks so.
func TestBrowser_WhatOthersCannot(t *testing.T) {
	t.Parallel()
	b := openBrowser(t)
	b.scene()
	b.run(chromedp.EmulateViewport(1280, 720))
	b.run(chromedp.Navigate(b.base+"/jobs/5001"), chromedp.WaitReady("#main")) // as a reader
	b.until(`!document.body.innerText.includes('/srv/in/1.jpg') && document.body.innerText.includes('exit status 3')`)
	b.shot("ten", "05-read-only-by-the-database")
	b.run(chromedp.Navigate(b.link))
	b.until(`location.pathname === '/' && !!document.getElementById('main')`)
	b.run(chromedp.Navigate(b.base+"/jobs/5001"), chromedp.WaitReady("#main"))
	b.until(`document.body.innerText.includes('/srv/in/1.jpg') &&
		!!document.querySelector('table.falls') && !!document.querySelector('table.log')`)
	b.run(chromedp.EmulateViewport(1280, 920))
	b.shot("ten", "06-one-waterfall")
	b.run(chromedp.EmulateViewport(1280, 720))
	b.run(chromedp.Navigate(b.base+"/failures"), chromedp.WaitReady("#main"))
	b.until(`document.querySelectorAll('tr[id^=g-]').length === 2 && document.getElementById('g-0').innerText.includes('48')`)
	b.shot("ten", "08-failures-over-hosts")

	// An order for many: planned to the job, carried out, and undone.
	b.exec(`select bellhop.operation_plan('hold', '{"type": ["mail"]}')`)
	b.exec(`insert into bellhop.jobqueue (type) values ('mail')`) // it came later
	b.run(chromedp.Navigate(b.base+"/operations/1"), chromedp.WaitReady("#main"))
	b.until(`document.body.innerText.includes('5,000 jobs would be changed') &&
		document.querySelectorAll('tr[data-href]').length === 20`)
	b.shot("ten", "02-exact-to-its-preview")
	b.exec(`select bellhop.operation_start(1)`)
	for range 7 {
		b.exec(`select bellhop.operation_step(1)`)
	}
	if n := b.one("select count(*)::text from bellhop.jobqueue where state = 'held'"); n != "5000" {
		t.Errorf("%s are held", n)
	}
	b.run(chromedp.Navigate(b.base+"/operations/1"), chromedp.WaitVisible(`form[action="/do/undo"] button`),
		chromedp.Click(`form[action="/do/undo"] button`, chromedp.ByQuery))
	b.until(`!document.querySelector('form[action="/do/undo"]')`)
	if n := b.one("select count(*)::text from bellhop.jobqueue where state = 'held'"); n != "0" {
		t.Errorf("%s are held after the undo", n)
	}
	b.shot("ten", "03-undone")
	b.withoutScript()
	b.run(chromedp.Navigate(b.base+"/jobs?state=failed"), chromedp.WaitReady("#main"))
	b.shot("ten", "09-without-script")
	b.run(emulation.SetScriptExecutionDisabled(false))
	b.quiet("ten")
}

// Twelve tabs of one site: each page comes, and the one that is looked at is current. A browser has six connections
// to a site.
func TestBrowser_TwelveTabs(t *testing.T) {
	t.Parallel()
	b := openBrowser(t)
	b.exec(`insert into bellhop.jobqueue (type) values ('mail')`)
	last := b.Context
	for i := range 12 {
		tab, end := chromedp.NewContext(b.Context)
		t.Cleanup(end)
		if err := chromedp.Run(tab, chromedp.Navigate(b.base+"/jobs"), chromedp.WaitReady("#job-1")); err != nil {
			t.Fatalf("tab %d: %v", i+1, err)
		}
		last = tab
	}
	b.exec(`insert into bellhop.jobqueue (type) values ('mail')`)
	ask := chromedp.Poll(`!!document.getElementById('job-2')`, nil, chromedp.WithPollingTimeout(time.Minute))
	if err := chromedp.Run(last, ask); err != nil {
		t.Error(fmt.Errorf("the twelfth tab is not current: %w", err))
	}
}
