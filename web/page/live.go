package page

import (
	"bytes"
	"context"
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

// How many streams there are at once: of all, and of one session or one address.
const (
	streamsMost = 500
	streamsEach = 100
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
	busy  bool      // it is being rendered
	now   web.Event // what was sent last
}

// stream is a browser that reads. Only the newest fragment waits for it, so that a
// slow one costs no memory, and never sees what is old.
type stream struct {
	who  web.Identity
	next chan web.Event
}

func newStream(who web.Identity) *stream { return &stream{who, make(chan web.Event, 1)} }

// offer puts a fragment in the place of one that still waits. The caller holds the hub's mu.
func (s *stream) offer(f web.Event) {
	select {
	case <-s.next:
	default:
	}
	s.next <- f
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
		for _, v := range h.views {
			for s := range v.subs {
				close(s.next)
			}
		}
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
	} else if v.now.Name == "main" {
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
	f := web.Event{Name: "main", Data: []byte(main)}
	if err != nil {
		_, _, _, gone := h.pages.trouble(ctx, err)
		if gone == "" { // it is not there any more, or not for this role: the page says it
			f = web.Event{Name: "reload", Data: []byte("it changed")}
		} else {
			f = web.Event{Name: "away", Data: []byte(gone)}
		}
	} else {
		h.pages.away.back()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	v.busy = false
	h.looks--
	if h.ended {
		return
	}
	same := f.Name == v.now.Name && bytes.Equal(f.Data, v.now.Data)
	v.now = f
	if same {
		f = web.Event{Name: "same"}
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
	s := newStream(web.CallerOf(r.Context()))
	v, ok := p.hub.join(s, route, at, arg)
	if !ok {
		w.Header().Set("Retry-After", "30")
		http.Error(w, "too many viewers: this page is no longer live", http.StatusServiceUnavailable)
		return
	}
	defer p.hub.leave(s, v)
	var sent []byte // the page as this browser has it; nil: it is not known
	web.Stream{
		Begin: web.Event{Name: "hello"}.String(), Beat: web.Event{Name: "beat"}.String(),
		Made: func(e web.Event) web.Event {
			if e.Name == "main" {
				e.Data, sent = sinceSent(sent, e.Data), e.Data
			}
			e.Data = p.signed(r.Context(), e.Data)
			return e
		},
	}.Serve(r.Context(), w, s.next)
}
