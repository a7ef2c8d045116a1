package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"bellhop/pgdev/pgtest"
)

// growing is what a process has printed so far.
type growing struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (g *growing) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.text.Write(p)
}

func (g *growing) String() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.text.String()
}

var devLink = regexp.MustCompile(`(http://localhost:\d+)/login/\w+`)

// One command brings up something to look at, signed in; its end leaves nothing that answers.
func TestDev_ShowsEverythingAndLeavesNothing(t *testing.T) {
	t.Parallel()
	var out growing
	cmd := exec.Command(os.Args[0], "dev", "--listen", "127.0.0.1:0")
	cmd.Env = append(os.Environ(), "BELLHOP_TEST_PROGRAM=1")
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	pgtest.Eventually(t, time.Minute, "there is no link", func() bool { return devLink.MatchString(out.String()) })
	link := devLink.FindStringSubmatch(out.String())
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := http.Client{Jar: jar, Timeout: 20 * time.Second}
	get := func(url string) string {
		r, err := browser.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.Body.Close() }()
		body, err := io.ReadAll(r.Body)
		if err != nil || r.StatusCode != http.StatusOK {
			t.Errorf("%s: %s, %v", url, r.Status, err)
		}
		return string(body)
	}
	get(link[0])
	if page := get(link[1] + "/"); !strings.Contains(page, "sign out") {
		t.Errorf("the link does not sign in:\n%.2000s", page)
	}
	for path, want := range map[string]string{"/jobs?key=bind": "bind", "/workflows/minutely": "cron",
		"/jobs?type=translate": "unknown type", "/locks": "Locks"} {
		pgtest.Eventually(
			t,
			time.Minute,
			path+" does not show "+want,
			func() bool { return strings.Contains(get(link[1]+path), want) },
		)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("it ended with %v\n%s", err, out.String())
	}
	if _, err := http.Get(link[1]); err == nil {
		t.Error("something answers still")
	}
}
