package instance

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"bellhop/scheduler"
	"bellhop/scheduler/history"
	"bellhop/sql/store"
)

// Past is what this instance has done, minute by minute, until it is written
// with a heartbeat: one statement for each minute in which anything happened.
type Past struct {
	mu   sync.Mutex
	book history.Book
	Log  *slog.Logger
	// Watched: a client looks at charts, so that the present minute is also written now and then; nil: charts are not
	// available.
	Watched func() bool
	early   time.Time // owned by Write: it was
}

// earlyEvery is how often the present minute is written while a client looks.
const earlyEvery = 5 * time.Second

// Took notes jobs that were claimed.
func (p *Past) Took(jobs []scheduler.Job) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.book.Took(jobs, time.Now())
}

// Settled notes outcomes that are committed, but those of stale claims.
func (p *Past) Settled(records []scheduler.Record, stale []scheduler.Claim) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.book.Settled(records, stale, time.Now())
}

// Ran notes tries at items.
func (p *Past) Ran(items []scheduler.Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.book.Ran(items, time.Now())
}

// historyPatience bounds how long a heartbeat is held up.
const historyPatience = time.Second

// Write writes the minutes that are over, or with all also the one that is not.
// What fails is written with the next heartbeat.
func (p *Past) Write(ctx context.Context, to *store.Registry, me scheduler.InstanceID, all bool) {
	now := time.Now()
	if !all && p.Watched != nil && now.Sub(p.early) >= earlyEvery && p.Watched() {
		all, p.early = true, now
	}
	p.mu.Lock()
	due := p.book.Due(now, all)
	p.mu.Unlock()
	if len(due) == 0 || me == 0 {
		return
	}
	const most = 500 // rows of one statement: it was away for long
	due = due[:min(len(due), most)]
	ctx, cancel := context.WithTimeout(ctx, historyPatience)
	defer cancel()
	if err := to.History(ctx, me, due); err != nil {
		p.Log.Debug("history cannot be written yet", "minutes", len(due), "error", err)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.book.Written(due, now)
}
