package page

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"
	"github.com/jackc/pgx/v5"

	"bellhop/pgdev/pgtest"
)

var update = flag.Bool("update", false, "write the golden files again")

// The database goes: what is shown stays and says since when, and what is opened meanwhile says so too. It comes
// back: both are current again without anybody's doing.
func TestBrowser_TheDatabaseGoesAndComesBack(t *testing.T) {
	t.Parallel()
	b := openBrowser(t)
	b.exec(`insert into bellhop.jobqueue (type, key) values ('mail', 'order.1')`)
	config := b.conn.Config().Copy()
	name := pgx.Identifier{config.Database}.Sanitize()
	config.Database = "postgres"
	server, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close(t.Context()) })
	does := func(text string, args ...any) {
		t.Helper()
		if _, err := server.Exec(t.Context(), text, args...); err != nil {
			t.Fatal(err)
		}
	}
	b.run(chromedp.Navigate(b.base+"/jobs"), chromedp.WaitReady("#job-1"))
	b.until(`document.getElementById('live').classList.contains('on')`)
	does("alter database " + name + " with allow_connections false")
	does("select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and application_name like '%web%'",
		b.conn.Config().Database)
	b.until(`!document.getElementById('away').hidden && document.getElementById('away').innerText.includes('not answered since') &&
		!!document.getElementById('job-1')`)
	b.run(chromedp.Navigate(b.base+"/failures"), chromedp.WaitReady("#main"))
	b.until(`document.querySelector('h1').innerText === 'No database'`)
	does("alter database " + name + " with allow_connections true")
	b.until(`document.querySelector('h1').innerText === 'Failures' && document.getElementById('away').hidden`)

	b.run(chromedp.Navigate(b.base+"/jobs"), chromedp.WaitReady("#job-1"))
	b.run(chromedp.Evaluate(`window.same = true`, nil))
	b.until(`document.getElementById('live').classList.contains('on')`)
	does("alter database " + name + " with allow_connections false")
	does("select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and application_name like '%web%'",
		b.conn.Config().Database)
	b.until(`!document.getElementById('away').hidden`)
	does("alter database " + name + " with allow_connections true")
	b.exec(`insert into bellhop.jobqueue (type, key) values ('mail', 'order.2')`)
	b.until(`!!document.getElementById('job-2') && document.getElementById('away').hidden && window.same`)
}

// Who opens streams and never reads them keeps nobody from seeing what changes, and the site from ending.
func TestPages_ABrowserThatNeverReads(t *testing.T) {
	t.Parallel()
	b := openBrowser(t)
	b.exec(`insert into bellhop.jobqueue (type, key) select 'mail', repeat('x', 500) || g from generate_series(1, 60) g`)
	for range 20 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(b.base, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		_ = conn.(*net.TCPConn).SetReadBuffer(4096) // a smaller one fills sooner
		_, err = fmt.Fprintf(conn, "GET /live?at=%s HTTP/1.1\r\nHost: localhost\r\n\r\n", url.QueryEscape("/jobs"))
		if err != nil {
			t.Fatal(err)
		}
	}
	pgtest.Eventually(t, time.Minute, "all of them look", func() bool { return b.watched() == 20 })
	b.run(chromedp.Navigate(b.base+"/jobs"), chromedp.WaitReady("#job-60"))
	for i := range 5 {
		b.exec(`insert into bellhop.jobqueue (type) values ('mail')`)
		b.until(fmt.Sprintf(`!!document.getElementById('job-%d')`, 61+i))
	}
	b.quiet("beside those who never read")
}

// heard are the roles that somebody hears who sees nothing of a page.
var heard = []string{"heading", "link", "button", "textbox", "checkbox", "combobox", "navigation", "main", "search", "form", "status",
	"image", "progressbar", "columnheader", "region", "group", "dialog", "banner", "contentinfo",
	"DisclosureTriangle"}

var (
	times = regexp.MustCompile(`(\bin )?[\d<]\d*(\.\d+)? ?(ms|µs|s|min|h|d)\b( \d+ (s|min|h)\b)?( ago)?|\d\d:\d\d:\d\d|now\b`)
	space = regexp.MustCompile(`\s+`)
)

// What a screen reader says of a page, in its order: landmarks, headings, what can be done, and under which names.
func TestBrowser_WhatAScreenReaderSays(t *testing.T) {
	t.Parallel()
	b := openBrowser(t)
	b.exec(`insert into bellhop.jobqueue (type, key, args) values ('mail', 'order.1', 'x'), ('mail', 'order.2', 'y')`)
	b.exec(`update bellhop.jobqueue set state = 'failed', attempt = 1, started_at = now(), ended_at = now(), exit_code = 3,
		error = 'exit status 3: no paper' where id = 2`)
	b.exec(`select bellhop.operation_plan('hold', '{"type": ["mail"]}')`)
	b.run(chromedp.Navigate(b.link))
	b.until(`location.pathname === '/' && document.readyState === 'complete' && !!document.getElementById('main')`)
	b.says("spoken.txt", "/", "/jobs", "/jobs/2", "/failures", "/operations/1",
		"/locks", "/jobs/2/graph", "/hosts", "/workflows", "/notifications", "/operations", "/attachments")
}

// says compares what a screen reader says of pages with a file of testdata.
func (b *browser) says(file string, paths ...string) {
	b.Helper()
	var said strings.Builder
	for _, path := range paths {
		b.run(chromedp.Navigate(b.base+path), chromedp.WaitReady("#main"))
		b.until(`document.readyState === 'complete'`)
		var tree struct {
			Nodes []*spokenNode `json:"nodes"`
		}
		b.run(chromedp.ActionFunc(func(ctx context.Context) error {
			return cdp.Execute(ctx, accessibility.CommandGetFullAXTree, nil, &tree)
		}))
		fmt.Fprintf(&said, "== %s\n", path)
		for _, line := range withoutMends(spoken(tree.Nodes)) {
			said.WriteString(line + "\n")
		}
	}
	golden := filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(golden, []byte(said.String()), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		b.Fatal(err)
	}
	if said.String() != string(want) {
		b.Errorf("a screen reader says something else than %s (go test ./web/page -run ScreenReader -update):\n%s",
			golden, said.String())
	}
}

// withoutMends leaves out what a machine's own server has to mend: that differs.
func withoutMends(lines []string) (list []string) {
	within := false
	for _, line := range lines {
		within = line == "region To mend all checks" || within && !strings.HasPrefix(line, "region ")
		if !within {
			list = append(list, mendNumber.ReplaceAllString(line, "$1 N"))
		}
	}
	return list
}

var mendNumber = regexp.MustCompile(`^(link System) \d+$`)

// spokenNode is what is asked of the browser's tree: the package of its types lags behind what it says.
type spokenNode struct {
	NodeID   string      `json:"nodeId"`
	Ignored  bool        `json:"ignored"`
	Role     spokenValue `json:"role"`
	Name     spokenValue `json:"name"`
	ChildIDs []string    `json:"childIds"`
}

type spokenValue struct {
	Value any `json:"value"`
}

// spoken are the nodes that are heard, in the order of the page.
func spoken(nodes []*spokenNode) (lines []string) {
	byID := map[string]*spokenNode{}
	for _, n := range nodes {
		byID[n.NodeID] = n
	}
	var walk func(*spokenNode)
	walk = func(n *spokenNode) {
		if role := fmt.Sprint(n.Role.Value); !n.Ignored && slices.Contains(heard, role) {
			name := times.ReplaceAllString(fmt.Sprint(n.Name.Value), "T")
			lines = append(lines, strings.TrimSpace(role+" "+space.ReplaceAllString(name, " ")))
		}
		for _, id := range n.ChildIDs {
			if c := byID[id]; c != nil {
				walk(c)
			}
		}
	}
	if len(nodes) > 0 {
		walk(nodes[0])
	}
	return lines
}
