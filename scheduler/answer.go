package scheduler

import (
	"strconv"
	"strings"
	"time"
)

// Answer is what an agent says of a line besides how it went: most say nothing.
type Answer struct {
	Result []byte // JSON that jsonb can hold; nil: none
	// EndedAs is how a line that is done had nothing to do.
	EndedAs EndedAs
	// Of a line that failed: another try gives the same; or it is not to come sooner than After (0: as the policy says).
	Never bool
	After time.Duration
	// Snooze puts the job off for so long; that is no attempt, and no failure. 0: it does not.
	Snooze time.Duration
	// Rest ends the run, and the job goes on later; that is no attempt, and no failure. nil: it does not rest.
	Rest *Resting
}

// putsOff reports whether the job goes on later, as the agent says.
func (a *Answer) putsOff() bool { return a != nil && (a.Snooze > 0 || a.Rest != nil) }

// Given is the JSON that the line gave back; nil: none.
func (r *Result) Given() []byte {
	if r.Answer == nil {
		return nil
	}
	return r.Answer.Result
}

// HowFar is what an agent says of how far it is with a job.
type HowFar struct {
	Claim
	Done *float32 // 0 … 1; nil: only the text is new
	Text string
}

// listMost is how many ids go into one notification, which has room for 8000 bytes.
const listMost = 350

// JobIDLists are ids as notifications carry them: JobIDs reads them.
func JobIDLists(ids []JobID) (texts []string) {
	for len(ids) > 0 {
		n := min(len(ids), listMost)
		var list []byte
		for i, id := range ids[:n] {
			if i > 0 {
				list = append(list, ',')
			}
			list = strconv.AppendInt(list, int64(id), 10)
		}
		texts, ids = append(texts, string(list)), ids[n:]
	}
	return texts
}

// JobIDs reads a list of jobs, separated by commas, as notifications carry it. It skips words that are not job ids:
// any session can send a notification.
func JobIDs(list string) (ids []JobID) {
	for word := range strings.SplitSeq(list, ",") {
		if id, err := strconv.ParseInt(word, 10, 64); err == nil && id > 0 {
			ids = append(ids, JobID(id))
		}
	}
	return ids
}
