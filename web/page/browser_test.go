package page

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"bellhop/sql/migrate/migrated"
	"bellhop/sql/view"
	"bellhop/web"
)

// browser is a real one, on the real door: headers, sessions and forms are those of `serve`.
type browser struct {
	*site
	context.Context
	base  string
	link  string // signs in as an operator
	shown *Pages // those of the door
	mu    sync.Mutex
	noise []string // what the console and the Content-Security-Policy say
}

func openBrowser(t *testing.T) *browser {
	t.Helper()
	if testing.Short() {
		t.Skip("short: pages are not looked at in a browser")
	}
	program, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium is here: pages are not looked at in a browser (apt-get install chromium)")
	}
	b := &browser{site: openSite(t)}
	b.base, b.link, b.shown = b.openDoor()
	profile, err := os.MkdirTemp("", "bellhop-browser")
	if err != nil {
		t.Fatal(err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.ExecPath(program),
		chromedp.UserDataDir(profile), chromedp.WSURLReadTimeout(time.Minute))
	allocated, endProcess := chromedp.NewExecAllocator(context.Background(), options...)
	tab, endTab := chromedp.NewContext(allocated)
	timed, endTime := context.WithTimeout(tab, 4*time.Minute)
	b.Context = timed
	t.Cleanup(func() {
		endTime()
		endTab()
		endProcess()
		// The browser's helpers may write for a moment longer than it lives: t.TempDir would fail the test then.
		_ = os.RemoveAll(profile)
	})
	chromedp.ListenTarget(timed, func(event any) {
		said := ""
		switch e := event.(type) {
		case *runtime.EventConsoleAPICalled:
			said = fmt.Sprint("console: ", e.Type)
		case *runtime.EventExceptionThrown:
			said = "exception: " + e.ExceptionDetails.Error()
		case *cdplog.EventEntryAdded:
			said = "log: " + e.Entry.Text + " " + e.Entry.URL
		}
		if said != "" {
			b.mu.Lock()
			b.noise = append(b.noise, said)
			b.mu.Unlock()
		}
	})
	b.run(cdplog.Enable(), runtime.Enable())
	return b
}

// openDoor serves the pages as `serve` does; the link signs in as an operator.
func (s *site) openDoor() (base, link string, pages *Pages) {
	s.Helper()
	visitors, err := view.NewVisitors(s.conn.Config().ConnString())
	if err != nil {
		s.Fatal(err)
	}
	door, err := web.Listen(web.Config{
		Listen: "127.0.0.1:0",
		Ready:  func() string { return "" },
		Counts: func() http.Handler { return nil },
	})
	if err != nil {
		s.Fatal(err)
	}
	base = "http://" + door.Addr()
	log := slog.New(slog.NewTextHandler(s.Output(), nil))
	pages = New(Config{Visitors: visitors, Version: "v", Address: base, Log: log})
	door.Open(pages, visitors, visitors)
	s.Cleanup(func() {
		pages.Close()
		door.Close()
		visitors.Close()
	})
	if err := view.NewLook(s.conn).SignIn(s.Context(), "the secret of a link"); err != nil {
		s.Fatal(err)
	}
	return base, base + "/login/the%20secret%20of%20a%20link", pages
}

// watched is how many streams are open.
func (b *browser) watched() int64 { return b.shown.hub.count.Load() }

func (b *browser) run(actions ...chromedp.Action) {
	b.site.Helper()
	if err := chromedp.Run(b.Context, actions...); err != nil {
		b.Fatal(err)
	}
}

// withoutScript switches scripts off. A live page is left first: in the middle of its script, what calls back (a policy
// of trusted types) would throw.
func (b *browser) withoutScript() {
	b.site.Helper()
	b.run(chromedp.Navigate("about:blank"), emulation.SetScriptExecutionDisabled(true))
}

func (b *browser) eval(script string) (answer string) {
	b.site.Helper()
	b.run(chromedp.Evaluate(script, &answer))
	return answer
}

// until waits until a script says yes, on a page that is whole: its own script has run, so keys are heard.
func (b *browser) until(script string) {
	b.site.Helper()
	script = "document.readyState === 'complete' && (" + script + ")"
	var err error
	// A page that goes takes the question with it.
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		ask := chromedp.Poll(script, nil, chromedp.WithPollingTimeout(time.Until(deadline)))
		if err = chromedp.Run(b.Context, ask); err == nil {
			return
		}
	}
	b.Fatalf("%s: %v\n%s", script, err, b.eval("location.href + document.body.innerText.slice(0, 2000)"))
}

func (b *browser) quiet(where string) {
	b.site.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, said := range b.noise {
		b.Errorf("%s: %s", where, said)
	}
	b.noise = nil
}

// faint lists text whose contrast with what is behind it is less than 4.5, and what is wider than the page.
const faint = `(() => {
  const lum = (c) => { const f = (v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
    return 0.2126 * f(c[0]) + 0.7152 * f(c[1]) + 0.0722 * f(c[2]); };
  const parse = (s) => { const m = s.match(/[\d.]+/g).map(Number); return m.length > 3 ? m : [...m, 1]; };
  const bad = new Set();
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement;
    if (!walk.currentNode.nodeValue.trim() || !e.getClientRects().length || e.closest('svg, option, datalist')) continue;
    let behind = null;
    for (let p = e; p && !behind; p = p.parentElement) { const c = parse(getComputedStyle(p).backgroundColor); if (c[3] > 0.99) behind = c; }
    behind = behind || [255, 255, 255, 1];
    const [x, y] = [lum(parse(getComputedStyle(e).color)), lum(behind)].sort((a, b) => b - a);
    const ratio = (x + 0.05) / (y + 0.05);
    if (ratio < 4.5) bad.add(ratio.toFixed(2) + ' ' + e.tagName + '.' + e.className + ': ' + walk.currentNode.nodeValue.trim().slice(0, 30));
  }
  if (document.documentElement.scrollWidth > innerWidth + 1) bad.add('the page is ' + document.documentElement.scrollWidth + ' wide, and the window ' + innerWidth + ': ' +
    [...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest('.scroll, nav, .near')).map((e) => e.tagName + '.' + e.className).slice(0, 5).join(' '));
  return [...bad].join('\n');
})()`

// Every page, for every role, light and dark, wide and narrow: nothing is reported to the console, nothing is
// refused by the policy, all text can be read, and no page is wider than the window.
func TestBrowser_EveryPageCanBeReadAndNothingIsReported(t *testing.T) {
	t.Parallel()
	b := openBrowser(t)
	b.fill()
	shots := os.Getenv("BELLHOP_SCREENSHOTS") // a folder: what a person looks at
	for _, role := range []string{"reader", "operator"} {
		if role == "operator" {
			b.run(chromedp.Navigate(b.link))
			b.until(`location.pathname === '/' && !!document.getElementById('main')`)
		}
		for _, path := range everyPage {
			b.run(chromedp.Navigate(b.base+path), chromedp.WaitReady("#main"))
			for _, scheme := range []string{"light", "dark"} {
				for _, width := range []int64{1280, 360} {
					b.looks(fmt.Sprintf("%s as %s, %s, %d px", path, role, scheme, width), scheme, width, shots)
				}
			}
		}
	}
}

// looks at the page that is open, in a scheme and a width. shots: a folder for a picture of it; empty: none is taken.
func (b *browser) looks(where, scheme string, width int64, shots string) {
	b.site.Helper()
	b.run(chromedp.EmulateViewport(width, 800), emulation.SetEmulatedMedia().WithFeatures(
		[]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
	if bad := b.eval(faint); bad != "" {
		b.Errorf("%s:\n%s", where, bad)
	}
	if n := b.eval(`String(document.querySelectorAll('img[onerror], main script').length)`); n != "0" {
		b.Errorf("%s: markup of a field became an element", where)
	}
	b.quiet(where)
	if shots == "" {
		return
	}
	var png []byte
	b.run(chromedp.FullScreenshot(&png, 100))
	name := strings.NewReplacer("/", "_", "?", "_", "&", "_", " ", "", ",", "_").Replace(where) + ".png"
	if err := os.WriteFile(filepath.Join(shots, name), png, 0o644); err != nil {
		b.Fatal(err)
	}
}

// Long text in every field leaves every page as wide as a telephone.
func TestBrowser_LongTextKeepsWithinThePage(t *testing.T) {
	t.Parallel()
	b := openBrowser(t)
	migrated.Fill(t, b.conn, strings.Repeat("<b class=x>long</b>&", 10_000))
	b.run(chromedp.Navigate(b.link))
	b.until(`location.pathname === '/' && !!document.getElementById('main')`)
	b.run(chromedp.EmulateViewport(360, 800))
	for _, path := range everyPage {
		b.run(chromedp.Navigate(b.base+path), chromedp.WaitReady("#main"))
		if bad := b.eval(faint); bad != "" {
			t.Errorf("%s:\n%s", path, bad)
		}
		if n := b.eval(`String(document.querySelectorAll('b.x').length)`); n != "0" {
			t.Errorf("%s: markup of a field became an element", path)
		}
		b.quiet(path)
	}
}

// Who has a keyboard only finds, goes from row to row, marks, orders, opens and comes back.
func TestBrowser_KeyboardAlone(t *testing.T) {
	t.Parallel()
	b := openBrowser(t)
	b.exec(`insert into bellhop.jobqueue (type, key) select 'mail', 'order.' || g from generate_series(1, 5) g`)
	b.run(chromedp.Navigate(b.link))
	b.until(`location.pathname === '/' && !!document.getElementById('main')`)
	press := func(keys ...string) {
		for _, k := range keys {
			b.run(chromedp.KeyEvent(k))
		}
	}
	press("g", "j")
	b.until(`location.pathname === '/jobs' && document.querySelectorAll('tr[data-href]').length === 5`)
	press("j", "j", "x", "k")
	b.until(`document.querySelector('#job-5.at') && document.querySelector('#job-4 input').checked`)
	press("?")
	b.until(`document.getElementById('keys').open`)
	press(kb.Escape)
	b.until(`!document.getElementById('keys').open`)
	press("/")
	b.until(`document.activeElement.name === 'key'`)
	b.eval(`document.activeElement.value = ''`) // chromedp types the character of a key whose press was taken
	b.run(chromedp.KeyEvent("order.3"), chromedp.KeyEvent(kb.Enter))
	b.until(`document.querySelectorAll('tr[data-href]').length === 1`)
	press("j", kb.Enter)
	b.until(`location.pathname === '/jobs/3'`)
	b.run(chromedp.Focus(`form[action="/do/hold"] button`), chromedp.KeyEvent(kb.Enter))
	b.until(`document.getElementById('said').innerText.includes('1 job was held')`)
	if state := b.one("select state from bellhop.jobqueue where id = 3"); state != "held" {
		t.Errorf("it is %s", state)
	}
	b.quiet("keyboard")
}

// What changes is shown without loading the page again, and what somebody types, marks or has in focus stays.
func TestBrowser_StaysCurrentAndKeepsFocus(t *testing.T) {
	t.Parallel()
	b := openBrowser(t)
	b.exec(`insert into bellhop.jobqueue (type, key) select 'mail', 'order.' || g from generate_series(1, 3) g`)
	b.run(chromedp.Navigate(b.link))
	b.until(`location.pathname === '/' && !!document.getElementById('main')`)
	b.run(chromedp.Navigate(b.base+"/jobs"), chromedp.WaitReady("#job-1"))
	b.run(chromedp.Evaluate(`window.same = true; document.querySelector('#job-2 input').checked = true;
		document.querySelector('input[name=key]').focus(); document.querySelector('input[name=key]').value = 'half a wo'`, nil))
	b.exec(`insert into bellhop.jobqueue (type, key) values ('mail', 'order.new')`)
	b.until(`!!document.getElementById('job-4')`)
	b.exec(`update bellhop.jobqueue set state = 'failed', ended_at = now(), error = 'no paper' where id = 1`)
	b.until(`document.getElementById('job-1').innerText.includes('no paper')`)
	kept := b.eval(`[window.same, document.querySelector('#job-2 input').checked, document.activeElement.name,
		document.activeElement.value].join(' ')`)
	if kept != "true true key half a wo" {
		t.Errorf("the page was loaded again, or lost what was marked, in focus or typed: %s", kept)
	}
	b.quiet("live")
}

// Times stand in UTC until the zone of the browser is chosen, and then in that, also after they have changed.
func TestBrowser_TimesInTheZoneOfTheBrowser(t *testing.T) {
	t.Parallel()
	b := openBrowser(t)
	b.exec(`insert into bellhop.jobqueue (type, state, attempt, started_at, ended_at) values ('mail', 'failed', 1, now(), now())`)
	b.exec(`insert into bellhop.log (job, attempt, level, line, at) values (1, 1, 'out', 'hello', '2026-11-25 01:02:03.004Z')`)
	b.run(emulation.SetTimezoneOverride("Asia/Kolkata"), chromedp.Navigate(b.link))
	b.until(`location.pathname === '/' && !!document.getElementById('main')`)
	b.run(chromedp.Navigate(b.base+"/jobs/1"), chromedp.WaitReady("#log time"))
	at := func() string { return b.eval(`document.querySelector('#log time').innerText`) }
	if at() != "01:02:03.004" {
		t.Errorf("it is %s, in UTC", at())
	}
	b.run(chromedp.Click("#zone"))
	b.until(`document.querySelector('#log time').innerText === '06:32:03.004'`)
	b.exec(`insert into bellhop.log (job, attempt, level, line, at) values (1, 1, 'out', 'again', '2026-11-25 01:02:04.005Z')`)
	b.until(`document.querySelectorAll('#log time').length === 2 &&
		[...document.querySelectorAll('#log time')].map((t) => t.innerText).join() === '06:32:03.004,06:32:04.005'`)
	b.run(chromedp.Click("#zone"))
	b.until(`document.querySelector('#log time').innerText === '01:02:03.004'`)
	b.quiet("zone")
}

// The colours are the system's until others are chosen, and then those, on every page.
func TestBrowser_ColoursAsChosen(t *testing.T) {
	t.Parallel()
	b := openBrowser(t)
	b.scheme("light", 1280)
	b.run(chromedp.Navigate(b.link))
	b.until(`location.pathname === '/' && !!document.getElementById('main')`)
	ground := func() string { return b.eval(`getComputedStyle(document.documentElement).backgroundColor`) }
	light := ground()
	for _, chosen := range []string{"light", "dark", "system"} {
		b.run(chromedp.Click("#theme"))
		b.until(`document.getElementById('theme').innerText === 'colours: ` + chosen + `'`)
		b.run(chromedp.Navigate(b.base + "/types"))
		b.until(`location.pathname === '/types' && document.getElementById('theme').innerText === 'colours: ` + chosen + `'`)
		if dark := ground() != light; dark != (chosen == "dark") {
			t.Errorf("with %s, the page is %s", chosen, ground())
		}
	}
	b.quiet("colours")
}

// A button copies the arguments of a job as they stand there.
func TestBrowser_CopiesArguments(t *testing.T) {
	t.Parallel()
	b := openBrowser(t)
	b.exec(`insert into bellhop.jobqueue (type, args, state, held) values ('mail', '{"to":"ann"}', 'held', true)`)
	b.run(chromedp.Navigate(b.link))
	b.until(`location.pathname === '/' && !!document.getElementById('main')`)
	b.run(chromedp.Navigate(b.base+"/jobs/1"), chromedp.WaitReady("#h-args button.copy"))
	b.eval(`navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); }; ''`)
	b.run(chromedp.Click("#h-args button.copy"))
	b.until(`JSON.parse(window.copied).to === 'ann' && !!document.querySelector('#h-args .copied')`)
	b.quiet("copy")
}

// On any page / leads to the field that finds a job, a type or a workflow.
func TestBrowser_SearchFromAnywhere(t *testing.T) {
	t.Parallel()
	b := openBrowser(t)
	b.exec(`insert into bellhop.jobqueue (type, key) values ('mail', 'order.1')`)
	b.run(chromedp.Navigate(b.link))
	b.until(`location.pathname === '/' && !!document.getElementById('main')`)
	for _, word := range [][2]string{{"order.1", "/jobs/1"}, {"mail", "/types/mail"}, {"#1", "/jobs/1"}} {
		b.run(chromedp.KeyEvent("/"))
		b.until(`document.activeElement.id === 'find'`)
		b.eval(`document.activeElement.value = ''`) // chromedp types the character of a key whose press was taken
		b.run(chromedp.KeyEvent(word[0]), chromedp.KeyEvent(kb.Enter))
		b.until(`location.pathname === '` + word[1] + `'`)
	}
	b.quiet("search")
}

// What is marked has its buttons in sight, and nothing else has.
func TestBrowser_ButtonsOfWhatIsMarked(t *testing.T) {
	t.Parallel()
	b := openBrowser(t)
	b.exec(`insert into bellhop.jobqueue (type) values ('mail')`)
	b.run(chromedp.Navigate(b.link))
	b.until(`location.pathname === '/' && !!document.getElementById('main')`)
	b.run(chromedp.Navigate(b.base+"/jobs"), chromedp.WaitReady("#job-1"))
	shown := func() string { return b.eval(`getComputedStyle(document.querySelector('.stuck')).display`) }
	if shown() != "none" {
		t.Error("nothing is marked, and there are buttons")
	}
	b.run(chromedp.Click("#job-1 input"))
	if shown() != "flex" {
		t.Error("a job is marked, and there is no button")
	}
}

// Without script a page is whole, and its forms do what they say.
func TestBrowser_WithoutScript(t *testing.T) {
	t.Parallel()
	b := openBrowser(t)
	b.exec(`insert into bellhop.jobqueue (type, key) values ('mail', 'order.1')`)
	b.withoutScript()
	b.run(chromedp.Navigate(b.link), chromedp.WaitReady("#main"))
	b.run(chromedp.Navigate(b.base+"/jobs/1"), chromedp.WaitReady("#main"),
		chromedp.Click(`form[action="/do/cancel"] button`, chromedp.ByQuery), chromedp.WaitVisible("#said"))
	if state := b.one("select state from bellhop.jobqueue where id = 1"); state != "cancelled" {
		t.Errorf("it is %s", state)
	}
}
