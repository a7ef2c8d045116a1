package store

import (
	"time"

	"github.com/jackc/pgx/v5"
)

// A pass that says nothing for silenceLeast keeps all others waiting, and the database ends it: its instance may be
// frozen, or its line cut. One that thinks so long, of ten thousand locks on a busy machine, would be ended each time,
// and its jobs never start: the next of that instance may be silent for twice as long, up to silenceMost. That is
// shorter than passWait, which others wait for their turn.
const (
	silenceLeast = 2 * time.Second
	silenceMost  = 8 * time.Second
	passWait     = 10 * time.Second
)

// passSilence is how long the passes of an instance may say nothing.
type passSilence time.Duration

// ended is what the next pass may take when one was ended after so long.
func (s passSilence) ended(took time.Duration) passSilence {
	if took < time.Duration(s) {
		return s // for something else
	}
	return min(2*s, passSilence(silenceMost))
}

// made is what the next pass may take when one was made in so long.
func (s passSilence) made(took time.Duration) passSilence {
	return max(passSilence(silenceLeast), min(s, passSilence(4*took)))
}

// learn is called when a pass that began then is over.
func (s *passSilence) learn(began time.Time, conn *pgx.Conn, err error) {
	switch took := time.Since(began); {
	case err == nil:
		*s = s.made(took)
	case conn.IsClosed():
		*s = s.ended(took)
	}
}
