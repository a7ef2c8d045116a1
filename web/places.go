package web

import (
	"fmt"
	"net/http"
	"sync"
)

// Places bounds how many requests go on at once that wait or stream: for all callers, and for each of them.
type Places struct {
	All, Each int
	mu        sync.Mutex
	taken     int
	by        map[string]int
}

// Take gives a caller a place until leave is called, or says why there is none.
func (p *Places) Take(caller string) (leave func(), problem *Problem) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.by[caller] >= p.Each:
		return nil, &Problem{Title: http.StatusText(http.StatusTooManyRequests), Status: http.StatusTooManyRequests,
			Code: "too_many_of_yours", Next: "close some of them, or ask again later",
			Detail: fmt.Sprintf("%d requests of yours wait or stream already", p.Each)}
	case p.taken >= p.All:
		return nil, &Problem{Title: http.StatusText(http.StatusServiceUnavailable), Status: http.StatusServiceUnavailable,
			Code: "too_many_wait", Next: "ask again later", Detail: fmt.Sprintf("%d requests wait or stream already", p.All)}
	}
	if p.by == nil {
		p.by = map[string]int{}
	}
	p.taken++
	p.by[caller]++
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.taken--
		if p.by[caller]--; p.by[caller] == 0 {
			delete(p.by, caller)
		}
	}), nil
}

// GetOnly refuses HEAD on a route of GET that does more than to show something: it spends a link, or takes a place. It
// reports whether it did.
func GetOnly(w http.ResponseWriter, r *http.Request) (refused bool) {
	if r.Method == http.MethodGet {
		return false
	}
	w.Header().Set("Allow", http.MethodGet)
	Refuse(w, r, Problem{Status: http.StatusMethodNotAllowed, Code: "get_only", Detail: "this is for GET alone"})
	return true
}
