package demo

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/pgdev/pgtest"
	"bellhop/scheduler"
)

// page is where a screen writes, from several goroutines.
type page struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (p *page) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

func (p *page) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// TestScreen_IsNeverEmpty: where there is no terminal, of the lines that come too
// fast the last is told within a second, though none comes after it.
func TestScreen_IsNeverEmpty(t *testing.T) {
	t.Parallel()
	var p page
	s := newScreen(&p)
	s.show("first")
	pgtest.Eventually(t, time.Minute, "it is told", func() bool { return p.String() == "first\n" })
	s.show("second")
	s.show("third")
	pgtest.Eventually(t, time.Minute, "the last one is told",
		func() bool { return strings.HasSuffix(p.String(), "third\n") })
	s.show("fourth")
	s.clear()
	if strings.Contains(p.String(), "\r") {
		t.Errorf("there is no terminal: %q", p.String())
	}
}

// TestDemoReport_NamesNoDatabaseThatIsGone: only one that lives, or that comes
// back, is worth a line of psql.
func TestDemoReport_NamesNoDatabaseThatIsGone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		r    demoReport
		psql bool
	}{
		{demoReport{url: "postgres://h/d", gone: true}, false},
		{demoReport{url: "postgres://h/d", dataDir: "/kept"}, true},
		{demoReport{url: "postgres://h/d"}, true},
	} {
		var out bytes.Buffer
		a := &cli.App{Stdout: &out, Getenv: func(string) string { return "" }}
		first, warm := 2.5, 0.0015
		c.r.first, c.r.warm, c.r.job = &first, &warm, demoJob{id: 1, state: scheduler.Succeeded}
		if err := printDemo(a, c.r, &fileFinder{dir: "x"}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(out.String(), "  psql '"); got != c.psql {
			t.Errorf("a psql line: %t, want %t, in\n%s", got, c.psql, out.String())
		}
		for _, want := range []string{"had the first file: 2.5s", "a warm agent had it: 1.5ms (the median of 10)"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("no %q in:\n%s", want, out.String())
			}
		}
		if !strings.HasSuffix(out.String(), "files=0 found=0 none=0 failed=0 seconds=0.0\n") {
			t.Errorf("the last line is another: %s", out.String())
		}
	}
}

func TestScreen_KeepsItsLiveLineBelowWhatOthersWrite(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	s := &screen{out: &out, width: 12}
	s.show("1 of 3")
	s.show("2 of 3, and much more")
	s.say("hello")
	s.clear()
	const erase = "\r\x1b[K"
	if want := "1 of 3" + erase + "2 of 3, an…" + erase + "bellhop: hello\n2 of 3, an…" + erase; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	var file strings.Builder
	s = newScreen(&file)
	s.show("too soon")
	s.shown = s.shown.Add(-time.Second)
	s.show("in time")
	s.show("too soon again")
	s.clear()
	if file.String() != "in time\n" {
		t.Errorf("not on a terminal: %q", file.String())
	}
}
