package page

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bellhop/sql/view"
	"bellhop/web"
)

// countedVisitors counts the looks at the database.
type countedVisitors struct {
	Visitors
	looks atomic.Int64
}

func (c *countedVisitors) ReadAs(ctx context.Context, role string, fn func(view.Look) error) error {
	c.looks.Add(1)
	return c.Visitors.ReadAs(ctx, role, fn)
}

// Twelve tabs that are all live, of one list or of twelve: each shows a change, and together they ask no more of the
// database than the pulse allows for one.
func TestLive_TwelveTabsAskWhatOneMay(t *testing.T) {
	t.Parallel()
	for name, page := range map[string]string{"one list": "/jobs", "twelve lists": "/jobs?key=k*&type="} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openSite(t)
			visitors := &countedVisitors{Visitors: s.pages.Visitors}
			s.pages.Visitors = visitors
			began := time.Now()
			var seen sync.WaitGroup
			first := make(chan struct{}, 12)
			for i := range 12 {
				at := page
				if name != "one list" {
					at += strings.Repeat("%20", i) + "mail"
				}
				seen.Go(func() {
					if err := s.watch(at, first, `id="job-1"`); err != nil {
						t.Error(err)
					}
				})
			}
			for range 12 {
				<-first
			}
			s.exec(`insert into bellhop.jobqueue (type, key) values ('mail', 'k1')`)
			seen.Wait()
			cost := 2.0 // of a list: route.go
			if may := pulseBurst + pulseRate*time.Since(began).Seconds() + cost; float64(visitors.looks.Load())*cost > may {
				t.Errorf("%d looks of %v statements in %v: %v are allowed", visitors.looks.Load(), cost, time.Since(began), may)
			}
		})
	}
}

// watch looks at a page until it shows something; first hears of its first word.
func (s *site) watch(at string, first chan<- struct{}, want string) error {
	ctx, cancel := context.WithTimeout(s.Context(), 2*time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/live?at="+url.QueryEscape(at), nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	lines := bufio.NewReader(answer.Body)
	for told := false; ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		if !told && strings.HasPrefix(line, "event: main") {
			told = true
			first <- struct{}{}
		}
		if strings.Contains(line, want) {
			return nil
		}
	}
}

// slowVisitors has a page of a role's wait for as long as the test likes.
type slowVisitors struct {
	Visitors
	role string
	wait chan struct{}
}

func (v *slowVisitors) ReadAs(ctx context.Context, role string, fn func(view.Look) error) error {
	if role == v.role {
		<-v.wait
	}
	return v.Visitors.ReadAs(ctx, role, fn)
}

// A page that the database takes long for holds up nobody who looks at another.
func TestLive_ASlowPageHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	slow := &slowVisitors{s.pages.Visitors, aReader.Role, make(chan struct{})}
	s.pages.Visitors = slow
	end := sync.OnceFunc(func() { close(slow.wait) })
	t.Cleanup(end)
	at := newStream(aReader)
	jobs, _, _ := find("/jobs")
	v, _ := s.pages.hub.join(at, jobs, "/jobs", "")
	t.Cleanup(func() { end(); s.pages.hub.leave(at, v) })
	time.Sleep(3 * pulseEvery) // it is being rendered
	s.exec(`insert into bellhop.jobqueue (type, key) values ('mail', 'k1')`)
	seen := make(chan error, 1)
	go func() { seen <- s.watch("/jobs", make(chan struct{}, 1), `id="job-1"`) }()
	select {
	case err := <-seen:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("the other one is shown nothing")
	}
}

// A tab that loads the page anew, as it was told, is not told so again.
func TestLive_AReloadIsToldOnce(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	jobs, _, _ := find("/jobs")
	old := newStream(anOperator)
	v, _ := s.pages.hub.join(old, jobs, "/jobs", "")
	defer s.pages.hub.leave(old, v)
	s.pages.hub.mu.Lock()
	v.now = web.Event{Name: "reload", Data: []byte("it changed")}
	v.last = time.Now().Add(time.Hour) // it is not looked at meanwhile
	s.pages.hub.mu.Unlock()
	tab := newStream(anOperator)
	v, _ = s.pages.hub.join(tab, jobs, "/jobs", "")
	defer s.pages.hub.leave(tab, v)
	select {
	case e := <-tab.next:
		t.Errorf("it is told %s", e.Name)
	default:
	}
}
