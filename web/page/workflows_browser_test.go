package page

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// aRun makes a workflow of two steps, of which the first has failed in run 1.
func (b *browser) aRun() {
	b.Helper()
	b.exec(`select bellhop.workflow_apply('{"workflow": "nightly", "sensor": {"cron": "0 3 * * *"}, "steps": [
		{"name": "extract", "type": "sh", "args": "first"}, {"name": "ship", "type": "sh", "after": ["extract"]}]}')`)
	b.exec(`select bellhop.workflow_apply('{"workflow": "nightly", "sensor": {"cron": "0 4 * * *"}, "steps": [
		{"name": "extract", "type": "sh", "args": "second"}, {"name": "ship", "type": "sh", "after": ["extract"]}]}')`)
	b.exec(`select bellhop.workflow_run('nightly')`)
	b.exec(`update bellhop.jobqueue set state = 'running', attempt = 1, fence = 1, started_at = now()
		where run = 1 and step = 'extract'`)
	b.exec(`update bellhop.jobqueue set state = 'failed', ended_at = now(), error = 'no route to host'
		where run = 1 and step = 'extract'`)
	for range 3 { // whoever needs it, and who needs that
		b.exec(`select bellhop.ended(array(select id from bellhop.jobqueue where run = 1 and state = 'failed'))`)
	}
}

// What a screen reader says of the pages of workflows and of the system.
func TestBrowser_WhatAScreenReaderSaysOfWorkflows(t *testing.T) {
	t.Parallel()
	b := openBrowser(t)
	b.aRun()
	b.run(chromedp.Navigate(b.link))
	b.until(`location.pathname === '/' && !!document.getElementById('main')`)
	b.says("spoken_workflows.txt", "/workflows", "/workflows/nightly", "/runs/1", "/system")
}

// Who has a keyboard only goes from the workflows to one, runs it, goes to the run and its step, and goes on at the one
// that failed; and to the system.
func TestBrowser_WorkflowsByKeyboardAlone(t *testing.T) {
	t.Parallel()
	b := openBrowser(t)
	b.aRun()
	b.run(chromedp.Navigate(b.link))
	b.until(`location.pathname === '/' && !!document.getElementById('main')`)
	press := func(keys ...string) {
		for _, k := range keys {
			b.run(chromedp.KeyEvent(k))
		}
	}
	press("g", "w")
	b.until(`location.pathname === '/workflows' && !!document.getElementById('run-1')`)
	press("j", kb.Enter)
	b.until(`location.pathname === '/workflows/nightly'`)
	b.run(chromedp.Focus(`form[action="/do/run"] button`), chromedp.KeyEvent(kb.Enter))
	b.until(`document.getElementById('said').innerText.includes('a run was started') && !!document.getElementById('run-2')`)
	press("j", "j") // the newest stands first
	b.until(`document.querySelector('#run-1.at')`)
	press(kb.Enter)
	b.until(`location.pathname === '/runs/1'`)
	press("j")
	b.until(`document.querySelector('tr.at').innerText.includes('extract')`)
	press(kb.Enter)
	b.until(`location.pathname.startsWith('/jobs/')`)
	b.run(chromedp.NavigateBack())
	b.until(`location.pathname === '/runs/1'`)
	b.exec(`select bellhop.cancel(id) from bellhop.jobqueue where run = 2`) // one run at a time
	b.run(chromedp.Focus(`form[action="/do/rerun"] button`), chromedp.KeyEvent(kb.Enter))
	b.until(`document.getElementById('said').innerText.includes('it goes on at the failed step')`)
	if state := b.one("select state from bellhop.jobqueue where run = 1 and step = 'extract'"); state != "ready" {
		t.Errorf("it is %s", state)
	}
	press("g", "s")
	b.until(`location.pathname === '/system' && document.body.innerText.includes('Fix')`)
	b.quiet("workflows by keyboard")
}

// Without script a workflow is run and reverted, and a run goes on; the system is as it was when the page was loaded.
func TestBrowser_WorkflowsWithoutScript(t *testing.T) {
	t.Parallel()
	b := openBrowser(t)
	b.aRun()
	b.withoutScript()
	b.run(chromedp.Navigate(b.link), chromedp.WaitReady("#main"))
	b.run(chromedp.Navigate(b.base+"/runs/1"), chromedp.WaitReady("#main"),
		chromedp.Click(`form[action="/do/rerun"] button`, chromedp.ByQuery), chromedp.WaitVisible("#said"))
	if state := b.one("select state from bellhop.jobqueue where run = 1 and step = 'extract'"); state != "ready" {
		t.Errorf("it is %s", state)
	}
	b.run(chromedp.Navigate(b.base+"/workflows/nightly"), chromedp.WaitReady("#main"),
		chromedp.Click(`form[action="/do/revert"] button`, chromedp.ByQuery), chromedp.WaitVisible("#said"))
	if args := b.one("select definition -> 'steps' -> 0 ->> 'args' from bellhop.workflow"); args != "first" {
		t.Errorf("the workflow does %s", args)
	}
	b.run(chromedp.Click(`form[action="/do/deactivate"] button`, chromedp.ByQuery),
		chromedp.WaitVisible(`form[action="/do/activate"] button`))
	if active := b.one("select active::text from bellhop.workflow"); active != "false" {
		t.Errorf("it is active: %s", active)
	}
	b.run(chromedp.Navigate(b.base+"/system"), chromedp.WaitVisible("#h-found"), chromedp.WaitVisible("#h-size"))
	b.quiet("workflows without script")
}

// While a page of a run is looked at, its steps go on by themselves.
func TestBrowser_ARunStaysCurrent(t *testing.T) {
	t.Parallel()
	b := openBrowser(t)
	b.aRun()
	b.run(chromedp.Navigate(b.base+"/runs/1"), chromedp.WaitReady("#main"))
	b.run(chromedp.Evaluate(`window.same = true`, nil))
	b.exec(`select bellhop.workflow_retry(1)`)
	b.until(`document.querySelector('h1').innerText.includes('running') && window.same`)
	b.quiet("a run")
}
