package agents

import "bellhop/scheduler"

// word is what an agent's line means, whatever the dialect.
type word uint8

const (
	wordNothing  word = iota
	wordOK            // the line in hand is done; at first: ready
	wordFail          // the line in hand failed, the agent lives on
	wordSuccess       // counted
	wordLog           // text for bellhop.log, at level
	wordEcho          // text for the scheduler's stderr
	wordResult        // text is what the job gives back
	wordProgress      // text is how far it is
	wordItems         // n more items are done
	wordLock          // text is what is asked of locks
	wordStep          // text is a line with what the run has done
	wordDB            // text is a statement for the database
	wordDebug         // no word of the dialect
)

// remark is one thing an agent said. text may point into the line it was read
// from.
type remark struct {
	word  word
	level scheduler.Level
	text  []byte
	code  int               // wordFail: the exit code
	n     int64             // wordItems
	wish  *scheduler.Answer // wordOK, wordFail: what is to become of the job
	about about             // which line it says it is about
}

// about names a line, as far as the agent does.
type about struct {
	job   *int64
	fence *int64
}

// fits reports whether what the agent names is the line in hand.
func (a about) fits(c scheduler.Claim) bool {
	return (a.job == nil || *a.job == int64(c.Job)) && (a.fence == nil || *a.fence == int64(c.Fence))
}
