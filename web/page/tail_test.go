package page

import (
	"bufio"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// A page with a log is sent without the rows that a browser has, and wholly where that would not come to the same.
func TestSinceSent_OnlyWhatCameSince(t *testing.T) {
	t.Parallel()
	page := func(head string, lines ...int) string {
		var rows strings.Builder
		for _, l := range lines {
			fmt.Fprintf(&rows, "<tr id=\"l-%d\"><td>line %[1]d</tr>\n", l)
		}
		return head + "<tbody id=\"log\">\n" + rows.String() + "</tbody>foot"
	}
	since := func(head, from string, lines ...int) string {
		text := page(head, lines...)
		return strings.Replace(text, "<tbody id=\"log\">\n", `<tbody id="log" data-from="`+from+`">`, 1)
	}
	for name, c := range map[string]struct{ had, now, sent string }{
		"nothing was sent":             {"", page("a", 1, 2), page("a", 1, 2)},
		"there was no log":             {"a<p>nothing</p>", page("a", 1), page("a", 1)},
		"there is no log any more":     {page("a", 1), "a<p>nothing</p>", "a<p>nothing</p>"},
		"lines came":                   {page("a", 1, 2), page("b", 1, 2, 3, 4), since("b", "l-1", 3, 4)},
		"none came":                    {page("a", 1, 2), page("b", 1, 2), since("b", "l-1")},
		"the oldest went":              {page("a", 1, 2, 3), page("b", 3, 4), since("b", "l-3", 4)},
		"all went":                     {page("a", 1, 2), page("b", 3, 4), page("b", 3, 4)},
		"one came between":             {page("a", 1, 3), page("b", 1, 2, 3), page("b", 1, 2, 3)},
		"one of them went":             {page("a", 1, 2, 3), page("b", 1, 3), page("b", 1, 3)},
		"a number that begins so":      {page("a", 10, 11), page("b", 1, 10, 11), page("b", 1, 10, 11)},
		"a log that ends in the midst": {page("a", 1), `b<tbody id="log">`, `b<tbody id="log">`},
	} {
		if got := string(sinceSent([]byte(c.had), []byte(c.now))); got != c.sent {
			t.Errorf("%s: %q is sent, not %q", name, got, c.sent)
		}
	}
}

// A live page of a job with a long log sends each line once.
func TestLive_ALogIsSentOnce(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	s.exec(`insert into bellhop.jobqueue (type, state, attempt, fence, started_at) values ('mail', 'running', 1, 1, now())`)
	say := func(from, to int) {
		s.exec(`insert into bellhop.log (job, attempt, child, host, level, line)
		        select 1, 1, 'mail.1', 'local', 'out', 'line ' || g || repeat('.', 100) from generate_series($1::int, $2) g`, from, to)
	}
	say(1, 1000)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/live?at="+url.QueryEscape("/jobs/1"), nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	lines := bufio.NewReader(answer.Body)
	fragment := func() string {
		t.Helper()
		var text strings.Builder
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			text.WriteString(line)
			if line != "\n" {
				continue
			}
			if strings.HasPrefix(text.String(), "event: main\n") {
				return text.String()
			}
			text.Reset()
		}
	}
	if whole := fragment(); !strings.Contains(whole, "line 1.") || !strings.Contains(whole, "line 1000.") {
		t.Errorf("the first does not have all of it: %.300s", whole)
	}
	say(1001, 1002)
	next := fragment()
	if !strings.Contains(next, "line 1002.") || !strings.Contains(next, `data-from="l-1"`) ||
		strings.Contains(next, "line 1000.") {
		t.Errorf("the next does not have the new lines alone: %d characters", len(next))
	}
	if len(next) > 20_000 {
		t.Errorf("two lines take %d characters", len(next))
	}
}

// A browser shows the lines that came behind those it has, which stay the same rows, and lets the oldest go.
func TestBrowser_ALogGrows(t *testing.T) {
	t.Parallel()
	b := openBrowser(t)
	b.exec(`insert into bellhop.jobqueue (type, state, attempt, fence, started_at) values ('mail', 'running', 1, 1, now())`)
	say := func(from, to int) {
		b.exec(`insert into bellhop.log (job, attempt, child, host, level, line)
		        select 1, 1, 'mail.1', 'local', 'out', 'line ' || g || '.' from generate_series($1::int, $2) g`, from, to)
	}
	say(1, 1990)
	b.run(chromedp.Navigate(b.link))
	b.until(`location.pathname === '/' && !!document.getElementById('main')`)
	b.run(chromedp.Navigate(b.base+"/jobs/1"), chromedp.WaitReady("#l-1990"))
	b.eval(`document.getElementById('l-1000').mine = true; ''`)
	for i, to := range []int{1991, 1995, 2005} {
		say([]int{1991, 1992, 1996}[i], to)
		b.until(fmt.Sprintf(`!!document.getElementById('l-%d')`, to))
	}
	b.until(`!document.getElementById('l-5')`)
	got := b.eval(`[...document.querySelectorAll('#log tr')].map((r) => r.id.slice(2)).join() + ' ' +
		document.getElementById('l-1000').mine`)
	if got != count(6, 2005)+" true" {
		t.Errorf("it shows %.100s … %s", got, got[max(0, len(got)-100):])
	}
	b.quiet("a log that grows")
}

// A job that ends shows sections that were not there, in the same picture as its last lines: the log keeps the lines
// before them, since a section is known by its heading and not by its place.
func TestBrowser_ALogStaysWhereSectionsCome(t *testing.T) {
	t.Parallel()
	b := openBrowser(t)
	b.exec(`insert into bellhop.jobqueue (type, args, state, attempt, fence, started_at)
		values ('mail', 'order 1', 'running', 1, 1, now())`)
	b.exec(`insert into bellhop.log (job, attempt, child, host, level, line)
		select 1, 1, 'mail.1', 'local', 'out', 'line ' || g || '.' from generate_series(1, 40) g`)
	b.run(chromedp.Navigate(b.link))
	b.until(`location.pathname === '/' && !!document.getElementById('main')`)
	b.run(chromedp.Navigate(b.base+"/jobs/1"), chromedp.WaitReady("#l-40"))
	b.until(`document.getElementById('live').className === 'dot on'`)
	b.exec(`with said as (insert into bellhop.log (job, attempt, child, host, level, line)
			values (1, 1, 'mail.1', 'local', 'err', 'no such order'))
		update bellhop.jobqueue set state = 'failed', ended_at = now(), error = 'exit status 3', exit_code = 3`)
	b.until(`!!document.querySelector('pre.error') && !!document.getElementById('l-41')`)
	got := b.eval(`[...document.querySelectorAll('main > section')].map((s) => s.getAttribute('aria-labelledby')).join() + ' ' +
		[...document.querySelectorAll('#log tr')].map((r) => r.id.slice(2)).join()`)
	if want := "h-why,h-args,h-when,h-log " + count(1, 41); got != want {
		t.Errorf("it shows %s", got)
	}
	b.quiet("a job that ends")
}

func count(from, to int) string {
	var list []string
	for i := from; i <= to; i++ {
		list = append(list, fmt.Sprint(i))
	}
	return strings.Join(list, ",")
}
