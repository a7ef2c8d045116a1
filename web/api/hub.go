package api

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"bellhop/scheduler"
	"bellhop/sql/view"
	"bellhop/web"
)

// pulseEvery is how often the database is asked while a client follows: three short statements. More clients cost
// nothing more.
const pulseEvery = 2 * time.Second

// gatherFor is how long events are gathered, jobsMost how many jobs one event tells of, and behindMost how many
// events a client may be behind before it is told to begin again.
const (
	gatherFor  = 100 * time.Millisecond
	jobsMost   = 200
	behindMost = 32
)

// JobEvent is what has just happened to a job on this instance.
type JobEvent struct {
	ID    scheduler.JobID    `json:"id"`
	Type  scheduler.TypeName `json:"type,omitempty"`
	State scheduler.JobState `json:"state"`
}

// Hub tells its clients what happens: what this instance does, from its actors and without a statement, and the
// queue at a glance, every two seconds. It does nothing without clients.
type Hub struct {
	ends
	visitors *view.Visitors
	log      *slog.Logger
	watched  atomic.Int64

	mu     sync.Mutex
	subs   map[chan web.Event]bool
	jobs   []JobEvent // gathered
	more   bool
	timer  *time.Timer
	last   web.Event          // the queue as it was told last, or that the database is away
	cancel context.CancelFunc // of the pulse; nil: it does not run
	done   sync.WaitGroup
}

// NewHub gives one that does nothing before the first client joins.
func NewHub(visitors *view.Visitors, log *slog.Logger) *Hub {
	return &Hub{visitors: visitors, log: log, subs: map[chan web.Event]bool{}}
}

// Watched reports whether a client follows; otherwise jobs need not be told.
func (h *Hub) Watched() bool { return h.watched.Load() > 0 }

// Happened tells of jobs.
func (h *Hub) Happened(list []JobEvent) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.subs) == 0 {
		return
	}
	room := max(0, jobsMost-len(h.jobs))
	h.more = h.more || len(list) > room
	h.jobs = append(h.jobs, list[:min(room, len(list))]...)
	if h.timer == nil {
		h.timer = time.AfterFunc(gatherFor, h.flush)
	}
}

// flush tells what has gathered.
func (h *Hub) flush() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.timer = nil
	text, _ := json.Marshal(struct {
		Jobs []JobEvent `json:"jobs"`
		More bool       `json:"more"`
	}{h.jobs, h.more}) // words and numbers
	h.jobs, h.more = nil, false
	h.tell(web.Event{Name: "jobs", Data: text})
}

// tell gives an event to all clients; a client too far behind is told so, and nothing more.
func (h *Hub) tell(e web.Event) {
	for c := range h.subs {
		select {
		case c <- e:
		default:
			delete(h.subs, c)
			h.watched.Add(-1)
			close(c)
		}
	}
}

// join adds a client; its channel is closed if it reads too slowly.
func (h *Hub) join() chan web.Event {
	c := make(chan web.Event, behindMost)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.subs[c] = true
	h.watched.Add(1)
	if h.last.Data != nil {
		c <- h.last
	}
	if h.cancel == nil {
		ctx, cancel := context.WithCancel(context.Background())
		h.cancel = cancel
		h.done.Add(1)
		go h.pulse(ctx)
	}
	return c
}

// leave forgets a client. The last one ends the pulse.
func (h *Hub) leave(c chan web.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.subs[c] {
		delete(h.subs, c)
		h.watched.Add(-1)
	}
	if len(h.subs) == 0 && h.cancel != nil {
		h.cancel()
		h.cancel, h.last = nil, web.Event{}
	}
}

// Close ends the pulse.
func (h *Hub) Close() {
	h.mu.Lock()
	if h.cancel != nil {
		h.cancel()
		h.cancel = nil
	}
	h.mu.Unlock()
	h.done.Wait()
}

// pulse looks at the queue while there are clients.
func (h *Hub) pulse(ctx context.Context) {
	defer h.done.Done()
	tick := time.NewTicker(pulseEvery)
	defer tick.Stop()
	for {
		var queue []view.QueueRow
		err := h.visitors.ReadAs(ctx, web.Reader, func(l view.Look) (err error) {
			queue, err = l.Queue(ctx)
			return err
		})
		if ctx.Err() != nil {
			return
		}
		h.mu.Lock()
		e := h.last
		h.mu.Unlock()
		switch {
		case err == nil:
			e.Name = "queue"
			e.Data, _ = json.Marshal(cutQueue(queue)) // words and numbers
		case answered(err): // it is there, and refuses this: the queue is as it was told last
			h.log.Warn("viewers get no news of the queue", "error", err)
		default:
			h.log.Debug("viewers get no news of the queue", "error", err)
			e = web.Event{Name: "database", Data: []byte(`{"away":true}`)}
		}
		h.mu.Lock()
		if e.Name != h.last.Name || string(e.Data) != string(h.last.Data) {
			h.last = e
			h.tell(e)
		}
		h.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// typesMost is of how many types in a state the queue at a glance tells: GET /types has all of them.
const typesMost = 1000

// cutQueue leaves out the types beyond those, and no state.
func cutQueue(rows []view.QueueRow) []view.QueueRow {
	n := map[scheduler.JobState]int{}
	return slices.DeleteFunc(rows, func(r view.QueueRow) bool {
		n[r.State]++
		return r.Type != "" && n[r.State] > typesMost
	})
}

// answered reports whether an error is the answer of a database that works.
func answered(err error) bool {
	var gone *scheduler.Unreachable
	var said *pgconn.PgError
	return !errors.As(err, &gone) && errors.As(err, &said) &&
		!strings.HasPrefix(said.Code, "08") && !strings.HasPrefix(said.Code, "57P")
}
