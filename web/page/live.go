package page

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"bellhop/scheduler"
	"bellhop/web"
)

// The pulse: viewers cost the database at most that many statements a second, however many they are and whatever
// they look at. More viewers cost freshness.
const (
	pulseEvery   = 100 * time.Millisecond
	pulseRate    = 2.0  // statements a second
	pulseBurst   = 10.0 // after a quiet time
	freshAfter   = time.Second
	changedAfter = 200 * time.Millisecond
)

// A stream ends after a while, and the browser asks again: a viewer that was signed out since then is shown nothing
// more.
const (
	streamMost   = 10 * time.Minute
	streamsMost  = 500
	streamsEach  = 100             // of one session, or one address
	streamWrites = 5 * time.Second // a reader that takes longer for a fragment is let go
	streamBeat   = 15 * time.Second
)

// looksMost is how many pages are rendered at once: a page that the database takes long for does not hold up the
// others, and a page load or an order still finds a connection.
const looksMost = 2

// hub has the pages that viewers look at. Views that show the same to the same role are rendered once.
type hub struct {
	pages  *Pages
	places *web.Places
	count  atomic.Int64 // streams: without one, tellers of jobs look at nothing else
	mu     sync.Mutex
	views  map[viewKey]*liveView
	runs   bool
	looks  int // pages that are being rendered
	ended  bool
	closed chan struct{}
	done   sync.WaitGroup
}

type viewKey struct{ role, at string }

// liveView is a page with viewers.
type liveView struct {
	key   viewKey
	who   web.Identity // one of the viewers: all have the same role
	cost  float64
	job   scheduler.JobID // it shows this one; 0: a list
	subs  map[*stream]bool
	last  time.Time
	dirty bool
	busy  bool // it is being rendered
	now   fragment
}

// fragment is what was sent last.
type fragment struct {
	event string
	html  []byte
}

// stream is a browser that reads. Only the newest fragment waits for it, so that a
// slow one costs no memory, and never sees what is old.
type stream struct {
	who  web.Identity
	mu   sync.Mutex
	next *fragment
	wake chan struct{}
}

func (s *stream) offer(f fragment) {
	s.mu.Lock()
	s.next = &f
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default: // it was told already
	}
}

func (s *stream) take() *fragment {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.next
	s.next = nil
	return f
}

func newHub(p *Pages) *hub {
	places := &web.Places{All: streamsMost, Each: streamsEach}
	return &hub{pages: p, places: places, views: map[viewKey]*liveView{}, closed: make(chan struct{})}
}

func (h *hub) close() {
	h.mu.Lock()
	if !h.ended {
		h.ended = true
		close(h.closed)
	}
	h.mu.Unlock()
	h.done.Wait()
}

// happened marks the pages that show one of the jobs, and every list.
func (h *hub) happened(jobs []scheduler.JobID) {
	if h.count.Load() == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, v := range h.views {
		if v.dirty {
			continue
		}
		v.dirty = v.job == 0
		for _, j := range jobs {
			v.dirty = v.dirty || j == v.job
		}
	}
}

// join has a stream look at a page; ok is false where there are no streams any more.
func (h *hub) join(s *stream, r route, at, arg string) (v *liveView, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return nil, false
	}
	k := viewKey{s.who.Role, at}
	v = h.views[k]
	if v == nil {
		v = &liveView{key: k, who: s.who, cost: float64(r.Cost), subs: map[*stream]bool{}}
		if strings.HasPrefix(r.Path, "/jobs/") {
			n, _ := strconv.ParseInt(arg, 10, 64) // what is no number is no job, and a list
			v.job = scheduler.JobID(n)
		}
		h.views[k] = v
	} else if v.now.event == "main" {
		// A new viewer has just loaded the page: that it was to be reloaded, or that the database was away, is not news.
		s.offer(v.now)
	}
	v.subs[s] = true
	h.count.Add(1)
	if !h.runs {
		h.runs = true
		h.done.Add(1)
		go h.pulse()
	}
	return v, true
}

func (h *hub) leave(s *stream, v *liveView) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(v.subs, s)
	h.count.Add(-1)
	if len(v.subs) == 0 {
		delete(h.views, v.key)
	}
}

// pulse runs while there are viewers, and not a moment longer.
func (h *hub) pulse() {
	defer h.done.Done()
	tick := time.NewTicker(pulseEvery)
	defer tick.Stop()
	tokens, filled := pulseBurst, time.Now()
	for {
		select {
		case <-h.closed:
			return
		case <-tick.C:
		}
		now := time.Now()
		tokens = min(pulseBurst, tokens+pulseRate*now.Sub(filled).Seconds())
		filled = now
		v, more := h.due(now, tokens)
		if !more {
			return
		}
		if v == nil {
			continue
		}
		tokens -= v.cost
		h.done.Add(1)
		go func() {
			defer h.done.Done()
			h.look(v)
		}()
	}
}

// due is the page that was not looked at for longest, of those that changed and
// those that are no longer fresh; nil: none, or there are no statements to spare.
func (h *hub) due(now time.Time, tokens float64) (next *liveView, more bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.views) == 0 {
		h.runs = false
		return nil, false
	}
	if h.looks >= looksMost {
		return nil, true
	}
	for _, v := range h.views {
		old := now.Sub(v.last)
		if v.busy || old < changedAfter || !v.dirty && old < freshAfter || v.cost > tokens {
			continue
		}
		if next == nil || v.last.Before(next.last) {
			next = v
		}
	}
	if next != nil {
		next.dirty, next.busy, next.last = false, true, now
		h.looks++
	}
	return next, true
}

// look renders a page once, for all its viewers.
func (h *hub) look(v *liveView) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_, _, main, _, err := h.pages.render(ctx, v.who, v.key.at)
	f := fragment{"main", []byte(main)}
	if err != nil {
		_, _, _, gone := h.pages.trouble(ctx, err)
		if gone == "" { // it is not there any more, or not for this role: the page says it
			f = fragment{"reload", []byte("it changed")}
		} else {
			f = fragment{"away", []byte(gone)}
		}
	} else {
		h.pages.away.back()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	v.busy = false
	h.looks--
	same := f.event == v.now.event && bytes.Equal(f.html, v.now.html)
	v.now = f
	if same {
		f = fragment{"same", nil}
	}
	for s := range v.subs {
		s.offer(f)
	}
}

// live is the stream of a page.
func (p *Pages) live(w http.ResponseWriter, r *http.Request) {
	if web.GetOnly(w, r) {
		return
	}
	at := r.URL.Query().Get("at")
	path, _, _ := strings.Cut(at, "?")
	route, arg, ok := find(path)
	if !ok || route.Cost == 0 || len(at) > 2000 {
		http.Error(w, "there is no such page", http.StatusNotFound)
		return
	}
	leave, problem := p.hub.places.Take(web.CallerOf(r.Context()).Caller())
	if problem != nil {
		web.Refuse(w, r, *problem)
		return
	}
	defer leave()
	s := &stream{who: web.CallerOf(r.Context()), wake: make(chan struct{}, 1)}
	v, ok := p.hub.join(s, route, at, arg)
	if !ok {
		w.Header().Set("Retry-After", "30")
		http.Error(w, "too many viewers: this page is no longer live", http.StatusServiceUnavailable)
		return
	}
	defer p.hub.leave(s, v)
	control := web.Unhurried(w)
	w.Header().Set("Content-Type", "text/event-stream")
	var sent []byte // the page as this browser has it; nil: it is not known
	write := func(f fragment) error {
		_ = control.SetWriteDeadline(time.Now().Add(streamWrites)) // a connection always takes one
		var b bytes.Buffer
		fmt.Fprintf(&b, "event: %s\n", f.event)
		html := f.html
		if f.event == "main" {
			html, sent = sinceSent(sent, html), html
		}
		for line := range bytes.Lines(p.signed(r.Context(), html)) {
			b.WriteString("data: ")
			b.Write(bytes.TrimRight(line, "\r\n"))
			b.WriteByte('\n')
		}
		if len(f.html) == 0 {
			b.WriteString("data:\n")
		}
		b.WriteByte('\n')
		if _, err := w.Write(b.Bytes()); err != nil {
			return err
		}
		return control.Flush()
	}
	if write(fragment{"hello", nil}) != nil {
		return
	}
	end := time.NewTimer(streamMost)
	defer end.Stop()
	beat := time.NewTicker(streamBeat)
	defer beat.Stop()
	for {
		select {
		case <-r.Context().Done():
			return
		case <-web.Closing(r.Context()):
			return
		case <-p.hub.closed:
			return
		case <-end.C:
			return
		case <-beat.C:
			if write(fragment{"beat", nil}) != nil {
				return
			}
		case <-s.wake:
			if f := s.take(); f != nil && write(*f) != nil {
				return
			}
		}
	}
}
