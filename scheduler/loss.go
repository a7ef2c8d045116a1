package scheduler

import "time"

// Beat is what a heartbeat brings: when the one before it was, as the database knows it, when this one was, and on
// which server.
type Beat struct {
	Was, At time.Time // on the database's clock
	Server  string
}

// Run is a claim that another server is asked about.
type Run struct {
	Claim
	CreatedAt time.Time // when its job was submitted: the id alone may be another job's
	Over      bool      // it was recorded as over; else it runs here
	Told      time.Time // when that was confirmed, on this machine's clock
}

// Fate is what another server knows of a run.
type Fate int

const (
	FateThere Fate = iota // all of it
	FateAgain             // the job, but not its claim or its outcome: it runs again
	FateGone              // nothing: there is no such row
)

// LookBack is what an instance asks when another server of its database answers.
type LookBack struct {
	Was, Server string        // the server before, and this one
	Behind      time.Duration // by how much the database is known to have gone back; 0: it is not known
	Asked       time.Time     // outcomes that were confirmed before, the server before has confirmed
	Runs        []Run         // in the order in which they were confirmed, then those that run here
}

// Missing counts the runs of which a server does not have all. What was confirmed before something that has
// arrived has arrived, too: where its row is not there, it was deleted. What was confirmed after asked proves
// nothing: it may be this server's own.
func Missing(runs []Run, fates []Fate, asked time.Time) (gone, again int) {
	arrived := -1
	for i, f := range fates {
		if runs[i].Over && f == FateThere && runs[i].Told.Before(asked) {
			arrived = i
		}
	}
	for i, f := range fates {
		switch {
		case f == FateAgain && runs[i].Over:
			again++
		case f == FateGone && (i > arrived || !runs[i].Over):
			gone++
		}
	}
	return gone, again
}
