package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/sql/dial"
)

// Shared are connections that desks take in turn, so that an instance at rest needs few: what the clock asks for is
// done in milliseconds, seconds apart. A desk keeps a connection while it uses it. A desk that finds none free gets
// another one, so that it does not wait for the work of others. Connections that are long unused are closed.
type Shared struct {
	mu      sync.Mutex
	shelves map[string]*shelf // by where they lead, and how a session there is set up
	closed  bool
	now     func() time.Time
}

const (
	// turnWait is how long a desk waits for one that is in use: most uses are shorter, and to open one takes as long.
	turnWait = 20 * time.Millisecond
	// surplusIdle and lastIdle are how long an unused connection is kept: if there is another one, and the last one,
	// without which the next use begins with the making of a connection (some 5 ms).
	surplusIdle = 10 * time.Second
	lastIdle    = 20 * time.Second
)

// upkeep are the settings of desks that leave the rest to the planner. Tables that are small by mistake, before the
// first ANALYZE, are not read as a whole.
var upkeep = map[string]string{"synchronous_commit": "on", "lock_timeout": lockWait, "enable_seqscan": "off"}

// upkeepByIndex are those of desks whose plans have to be the same whatever the statistics say.
func upkeepByIndex() map[string]string {
	settings := maps.Clone(upkeep)
	maps.Copy(settings, byIndex)
	return settings
}

// shelf holds connections that are alike.
type shelf struct {
	all      *Shared
	way      dial.Way
	spare    []spare // the one that was used last is taken first: its caches are warm
	out      int
	returned chan *pgx.Conn
}

type spare struct {
	conn  *pgx.Conn
	since time.Time
}

// sharer is a desk that can do with connections that others use between its own uses.
type sharer interface{ connections() []*connection }

// NewShared has desks share connections. Call it before their first use; what is closed are the desks first.
func NewShared(desks ...sharer) *Shared {
	s := &Shared{shelves: map[string]*shelf{}, now: time.Now}
	for _, desk := range desks {
		for _, c := range desk.connections() {
			c.shelf = s.shelf(c.way)
		}
	}
	return s
}

// shelf finds the one for connections that are set up like that, whatever they are called.
func (s *Shared) shelf(way dial.Way) *shelf {
	key := way.URL
	for _, name := range slices.Sorted(maps.Keys(way.Settings)) {
		key += fmt.Sprintf(" %s=%q", name, way.Settings[name])
	}
	h := s.shelves[key]
	if h == nil {
		h = &shelf{all: s, way: way, returned: make(chan *pgx.Conn)}
		s.shelves[key] = h
	} else {
		h.way.Name = "bellhop upkeep" // of no desk in particular
	}
	return h
}

// take gives a connection for the caller alone, until it is given back.
func (h *shelf) take(ctx context.Context) (*pgx.Conn, error) {
	conn, wait := h.find()
	if conn == nil && wait {
		late := time.NewTimer(turnWait)
		defer late.Stop()
		select {
		case conn = <-h.returned:
		case <-late.C:
		case <-ctx.Done():
		}
	}
	if conn != nil && !conn.IsClosed() {
		return conn, nil
	}
	conn, err := h.way.Connect(ctx)
	if err != nil {
		h.lost()
	}
	return conn, err
}

// find gives an unused one; wait: there is one in use that may be free soon.
func (h *shelf) find() (conn *pgx.Conn, wait bool) {
	h.all.mu.Lock()
	defer h.all.mu.Unlock()
	h.out++
	for len(h.spare) > 0 {
		last := h.spare[len(h.spare)-1]
		h.spare = h.spare[:len(h.spare)-1]
		if !last.conn.IsClosed() {
			return last.conn, false
		}
	}
	return nil, h.out > 1
}

// give takes one back.
func (h *shelf) give(conn *pgx.Conn) {
	if conn.IsClosed() { // so have the others, as a rule: they need not be found broken one by one
		h.lost()
		h.all.drop(false)
		return
	}
	if conn.PgConn().TxStatus() != 'I' { // it is amid a transaction that nothing ends
		hangUp(conn)
		h.lost()
		return
	}
	select {
	case h.returned <- conn: // a desk waits for it; it stays out
		h.all.mu.Lock()
		h.out--
		h.all.mu.Unlock()
		return
	default:
	}
	h.all.mu.Lock()
	h.out--
	closed := h.all.closed
	if !closed {
		h.spare = append(h.spare, spare{conn, h.all.now()})
	}
	old := h.all.old()
	h.all.mu.Unlock()
	if closed {
		old = append(old, conn)
	}
	for _, c := range old {
		hangUp(c)
	}
}

// lost says that one is not given back.
func (h *shelf) lost() {
	h.all.mu.Lock()
	defer h.all.mu.Unlock()
	h.out--
}

// old takes long unused connections away. It is called often enough: at least by the heartbeat.
func (s *Shared) old() (list []*pgx.Conn) {
	now := s.now()
	for _, h := range s.shelves {
		if len(h.spare) == 0 {
			continue
		}
		last := h.spare[len(h.spare)-1].conn
		h.spare = slices.DeleteFunc(h.spare, func(x spare) bool {
			most := surplusIdle
			if x.conn == last && h.out == 0 {
				most = lastIdle
			}
			if now.Sub(x.since) < most {
				return false
			}
			list = append(list, x.conn)
			return true
		})
	}
	return list
}

// Close ends the unused connections, and each of the others when it is given back.
func (s *Shared) Close() { s.drop(true) }

func (s *Shared) drop(forGood bool) {
	s.mu.Lock()
	var all []*pgx.Conn
	for _, h := range s.shelves {
		for _, x := range h.spare {
			all = append(all, x.conn)
		}
		h.spare = nil
	}
	s.closed = s.closed || forGood
	s.mu.Unlock()
	for _, c := range all {
		hangUp(c)
	}
}

func hangUp(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = conn.Close(ctx) // it is going anyway
}
