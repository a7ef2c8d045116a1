package scheduler

import "time"

// RespawnPolicy bounds how often children of one type may die on one host
// (seed 000: RespawnCount, RespawnInterval).
type RespawnPolicy struct {
	Deaths int           // so many deaths …
	Window time.Duration // … within this: FAIL, for as long again
}

// Respawn is what one host remembers of the deaths of one type. Only deaths
// that nobody ordered are told to it. The zero value has seen none.
type Respawn struct {
	Deaths []time.Time // the latest ones within the window
	InARow int         // deaths since the last finished line
	NextAt time.Time   // no child before this
	Barred bool        // FAIL until NextAt, then one probe
}

// respawnFirst and respawnMost bound the pause between two respawns.
const (
	respawnFirst = time.Second
	respawnMost  = 30 * time.Second
)

// Died records a death. u in [0,1) is the jitter.
func (r Respawn) Died(p RespawnPolicy, now time.Time, u float64) Respawn {
	var recent []time.Time
	for _, at := range r.Deaths {
		if now.Sub(at) < p.Window {
			recent = append(recent, at)
		}
	}
	r.Deaths = append(recent, now)
	r.InARow++
	if r.Barred || p.Deaths > 0 && len(r.Deaths) >= p.Deaths {
		return Respawn{InARow: r.InARow, NextAt: now.Add(p.Window), Barred: true}
	}
	r.NextAt = now
	if r.InARow >= 2 {
		r.NextAt = now.Add(Backoff(respawnFirst, respawnMost, r.InARow-1, u))
	}
	return r
}

// Proved records that a child finished a line: a few bad inputs among a
// million do not stop a type.
func (r Respawn) Proved() Respawn { return Respawn{} }

// May says how many children of the type may come up now beside live ones (a
// large number when nothing holds it), and if none, when to ask again.
func (r Respawn) May(live int, now time.Time) (n int, again time.Time) {
	if now.Before(r.NextAt) {
		return 0, r.NextAt
	}
	if r.Barred || r.InARow > 0 { // one probe at a time until one proves itself
		return max(0, 1-live), time.Time{}
	}
	return 1 << 30, time.Time{}
}

// Backoff is the n-th pause (from 1) of an exponential series: first, doubled
// each time, at most `most`; u in [0,1) spreads it over +0 … +50 %, so that it
// is never shorter than first.
func Backoff(first, most time.Duration, n int, u float64) time.Duration {
	d := first
	for i := 1; i < n && d < most; i++ {
		d *= 2
	}
	d = min(d, most)
	return d + time.Duration(float64(d)/2*u)
}
