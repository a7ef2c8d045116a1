package failover

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"bellhop/pgdev/pgtest"
)

// pool connects as an app does.
func pool(t *testing.T, url string) *pgxpool.Pool {
	t.Helper()
	p, err := pgxpool.New(context.Background(), url) // it outlives the test's context
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// record is what clients were told, and what the agents wrote down.
type record struct {
	journal   string
	mu        sync.Mutex
	token     int64
	committed map[int64]time.Time
}

func newRecord(t *testing.T) *record {
	return &record{journal: pgtest.Dir(t), committed: map[int64]time.Time{}}
}

// submit is a client that submits all the time, until what it returns is called.
func (r *record) submit(t *testing.T, url string) (stop func()) {
	t.Helper()
	p, ctx, ended := pool(t, url), context.Background(), make(chan struct{})
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			r.mu.Lock()
			r.token++
			n := r.token
			r.mu.Unlock()
			one, done := context.WithTimeout(context.Background(), 5*time.Second)
			_, err := p.Exec(one, "insert into bellhop.jobqueue (type, args) values ('work', $1)",
				fmt.Sprintf("n=%d ms=%d", n, 5+n%40))
			done()
			if err == nil {
				r.mu.Lock()
				r.committed[n] = time.Now()
				r.mu.Unlock()
			}
			select {
			case <-ctx.Done():
			case <-time.After(40 * time.Millisecond): // the rate of this client
			}
		}
	}()
	return sync.OnceFunc(func() { cancel(); <-ended })
}

// run names one run of a job.
type run struct{ token, job, fence int64 }

// journaled is what the witnesses wrote: the runs that ended, and moments at which two processes did one job.
func (r *record) journaled(t *testing.T) (ended map[run]bool, together []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(r.journal, "book"))
	if err != nil {
		t.Fatal(err)
	}
	ended = map[run]bool{}
	for line := range strings.Lines(string(text)) {
		var what string
		var one run
		if _, err := fmt.Sscan(line, &what, &one.token, &one.job, &one.fence); err != nil {
			t.Fatalf("the journal has a line %q: %v", line, err)
		}
		switch what {
		case "end":
			ended[one] = true
		case "overlap", "clash":
			together = append(together, line)
		}
	}
	return ended, together
}

// waitOver waits until every job is over. The server may be away for a moment.
func waitOver(t *testing.T, p *pgxpool.Pool) {
	t.Helper()
	pgtest.Eventually(t, patience, "every job is over", func() bool {
		var open int
		return p.QueryRow(t.Context(), `select count(*) from bellhop.jobqueue
			where state not in ('succeeded', 'failed', 'cancelled', 'quarantined')`).Scan(&open) == nil && open == 0
	})
}

// check holds the queue against what clients were told and what agents did. lost are the spans in which a commit may
// have been lost with its server. It gives how many were.
func (r *record) check(t *testing.T, p *pgxpool.Pool, lost [][2]time.Time) (gone int) {
	t.Helper()
	ended, together := r.journaled(t)
	if len(together) > 0 {
		t.Errorf("%d times two processes did one job at once, first: %s", len(together), together[0])
	}
	rows, err := p.Query(t.Context(), `select id, fence, attempt, state, coalesce(error, ''),
		substring(args from 'n=(\d+)')::bigint from bellhop.jobqueue where type = 'work'`)
	if err != nil {
		t.Fatal(err)
	}
	there := map[int64]bool{}
	var one run
	var attempt int
	var state, problem string
	if _, err := pgx.ForEachRow(rows, []any{&one.job, &one.fence, &attempt, &state, &problem, &one.token}, func() error {
		there[one.token] = true
		if state != "succeeded" || attempt != 1 {
			t.Errorf("job %d is %s after attempt %d: %s", one.job, state, attempt, problem)
		} else if !ended[one] {
			t.Errorf("job %d has succeeded under fence %d, and no agent ended it under that fence", one.job, one.fence)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for token, at := range r.committed {
		if there[token] {
			continue
		}
		gone++
		explained := false
		for _, span := range lost {
			explained = explained || at.After(span[0]) && at.Before(span[1])
		}
		if !explained {
			t.Errorf("the job of token %d, committed at %s, has no row", token, at.UTC().Format("15:04:05.000"))
		}
	}
	return gone
}
