package client_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"bellhop/client"
)

// For how long a key is taken, by what its job is doing.
func TestSubmit_Once(t *testing.T) {
	t.Parallel()
	a := setup(t)
	for _, c := range []struct {
		once    string
		state   client.State
		another bool
	}{
		{"open", client.Ready, false}, {"open", client.Scheduled, false}, {"open", client.Running, false},
		{"open", client.Succeeded, true}, {"open", client.Failed, true}, {"open", client.Cancelled, true},
		{"waiting", client.Ready, false}, {"waiting", client.Held, false}, {"waiting", client.Running, true},
		{"waiting", client.Assigned, true}, {"waiting", client.Quarantined, true},
	} {
		key := fmt.Sprint(c.once, c.state)
		first := a.submit(client.Job{Type: "t", Key: key, Args: "1"})
		a.exec("update bellhop.jobqueue set state = $2 where id = $1", first, string(c.state))
		again := a.submit(client.Job{Type: "t", Key: key, Args: "2", Once: c.once})
		if (again != first) != c.another {
			t.Errorf("%s, %s: job %d, then %d", c.once, c.state, first, again)
		}
		if id, err := a.Find(t.Context(), key); id != again || err != nil {
			t.Errorf("%s, %s: the key is job %d's (%v), want %d", c.once, c.state, id, err, again)
		}
		if c.another {
			if id, err := a.Find(t.Context(), fmt.Sprintf("%s#%d", key, first)); id != first || err != nil {
				t.Errorf("%s, %s: the old one is not found: %d, %v", c.once, c.state, id, err)
			}
		} else if args := value[string](a, "select args from bellhop.jobqueue where id = $1", first); args != "1" {
			t.Errorf("%s, %s: its args are %s", c.once, c.state, args)
		}
	}
	for _, bad := range []client.Job{
		{Type: "t", Once: "open"}, {Type: "t", Key: "k", Once: "often"}, {Type: "t", Per: time.Hour}, {Type: "t", Replace: true},
		{Type: "t", Key: "k", Per: -time.Hour},
	} {
		var e *client.Error
		if _, err := a.Submit(t.Context(), bad); !errors.As(err, &e) || e.Class != client.ErrInvalid || e.Rule != "submit_once" {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// One in each period; the same key is another one's in the next.
func TestSubmit_Per(t *testing.T) {
	t.Parallel()
	a := setup(t)
	daily := client.Job{Type: "t", Key: "daily", Per: 24 * time.Hour}
	first := a.submit(daily)
	again := a.submit(daily)
	key := value[string](a, "select key from bellhop.jobqueue where id = $1", first)
	if again != first { // midnight has passed between them: then this one is today's
		first, key = again, value[string](a, "select key from bellhop.jobqueue where id = $1", again)
	}
	if !strings.HasPrefix(key, "daily@20") || !strings.HasSuffix(key, "T00:00:00Z") {
		t.Errorf("its key is %s", key)
	}
	a.exec("update bellhop.jobqueue set key = 'daily@2001-01-01T00:00:00Z' where id = $1", first) // it was yesterday's
	if next := a.submit(daily); next == first {
		t.Error("the next day has none")
	}
}

// What waits is replaced, and put off again; what runs is not touched.
func TestSubmit_Replace(t *testing.T) {
	t.Parallel()
	a := setup(t)
	job := func(args string) client.Job {
		return client.Job{Type: "t", Key: "index", Args: args, RunIn: time.Hour, Replace: true}
	}
	first := a.submit(job("1"))
	a.exec("update bellhop.jobqueue set run_at = now() + interval '1 min' where id = $1", first)
	if id := a.submit(job("2")); id != first {
		t.Errorf("job %d, then %d", first, id)
	}
	is := "select state || ' ' || args || ' ' || (run_at > now() + interval '30 min') from bellhop.jobqueue where id = $1"
	if got := value[string](a, is, first); got != "scheduled 2 true" {
		t.Errorf("it is %s", got)
	}
	other := job("3")
	other.Type = "u"
	if _, err := a.Submit(t.Context(), other); !errors.Is(err, client.ErrKeyTaken) {
		t.Errorf("of another type: %v", err)
	}
	a.exec("update bellhop.jobqueue set state = 'running' where id = $1", first)
	if id := a.submit(job("3")); id == first {
		t.Error("one that runs was replaced")
	}
}

// Law: however many submit at once, one job of a key is open.
func TestSubmit_OnceAtTheSameTime(t *testing.T) {
	t.Parallel()
	a := setup(t)
	a.end(a.submit(client.Job{Type: "t", Key: "k"}), client.Succeeded, "")
	var all sync.WaitGroup
	ids := make(chan client.JobID, 100)
	for range 8 {
		all.Go(func() {
			for range 10 {
				id, err := a.Submit(context.Background(), client.Job{Type: "t", Key: "k", Once: "open"})
				if err != nil {
					t.Error(err)
				}
				ids <- id
			}
		})
	}
	all.Wait()
	close(ids)
	for first := range ids {
		for id := range ids {
			if id != first {
				t.Errorf("jobs %d and %d", first, id)
			}
		}
	}
	if n := value[int](a, "select count(*) from bellhop.jobqueue"); n != 2 {
		t.Errorf("%d jobs", n)
	}
}
