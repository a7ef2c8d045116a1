package engine

import (
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/scheduler"
	"bellhop/scheduler/engine"
)

// engineFollows is how many calls of logs run at once for jobs that are not over: followers take no turn from jobs
// whose outcome waits for it.
const engineFollows = 2

// followSome fetches what jobs with followers have written so far.
func (s *host) followSome(c actor.Context, now time.Time) {
	jobs := s.inst.Followed.Now(now)
	if len(jobs) == 0 {
		return
	}
	for claim, w := range s.jobs {
		if s.calls.following >= engineFollows || len(s.calls.toFetch) > 0 {
			return
		}
		if jobs[claim.Job] && w.remote.State == engine.Running && w.remote.Stage == engine.Started && w.log.due(now) {
			w.log.busy = true
			s.calls.following++
			m := s.logsOf(w)
			m.runs = true
			s.run(c, m)
		}
	}
}

// onFollowed: a job that was not over had written so much. It may be over by now: then what it wrote is fetched whole.
func (s *host) onFollowed(m *answered, now time.Time) {
	w := m.jobs[0]
	s.calls.following--
	w.log.busy = false
	if m.said.Failed != "" { // many engines give none before it has begun to write
		w.log.pace = w.log.pace.Failed(now, rand.Float64())
		return
	}
	w.log.pace = w.log.pace.Answered(now)
	if w.remote.State != engine.Running {
		return
	}
	if s.logged(w, w.log.more(&m.said), now); w.log.full() {
		s.note(w, "it has written so much that the rest is shown when it is over")
	}
}

func (s *host) logsOf(w *watched) *answered {
	args := []string{w.tag}
	if w.remote.ID != "" {
		args = append(args, w.remote.ID)
	}
	return &answered{call: scheduler.EngineCall{Op: "logs", Args: args}, jobs: []*watched{w}}
}

// remoteLog is how much of what a job wrote elsewhere is in its log. Each call of logs gives all of it, or its end.
type remoteLog struct {
	kept int      // lines
	last []string // the last of them that this watcher has kept
	busy bool     // a call is under way
	pace engine.Pace
}

// How many of the last lines are known again in an answer that has only the end, and how many lines are kept before the
// job is over.
const (
	remoteKnown = 20
	remoteMost  = engineLines / 2
)

func (l *remoteLog) due(now time.Time) bool { return !l.busy && !l.full() && l.pace.Due(now) }

func (l *remoteLog) full() bool { return l.kept >= remoteMost }

// more are the lines that are whole and not kept yet, of a job that is not over.
func (l *remoteLog) more(said *scheduler.EngineSaid) []string {
	lines := l.after(said)
	if said.Open && len(lines) > 0 {
		lines = lines[:len(lines)-1]
	}
	lines = lines[:min(len(lines), max(remoteMost-l.kept, 0))]
	l.kept += len(lines)
	l.last = slices.Clone(append(l.last, lines...))
	l.last = l.last[max(0, len(l.last)-remoteKnown):]
	return lines
}

// rest are the lines that are not kept yet, of one that is.
func (l *remoteLog) rest(said *scheduler.EngineSaid) []string { return l.after(said) }

// after are the lines behind those that are kept. Where the beginning is cut off they are found by what the last ones
// were; where these are cut off too, all are new.
func (l *remoteLog) after(said *scheduler.EngineSaid) (lines []string) {
	for line := range strings.Lines(said.Out) {
		lines = append(lines, strings.ToValidUTF8(strings.TrimRight(line, "\r\n"), "\uFFFD"))
	}
	if !said.Cut {
		return lines[min(l.kept, len(lines)):]
	}
	known := l.last
	for i := len(lines); i >= len(known) && len(known) > 0; i-- {
		if slices.Equal(lines[i-len(known):i], known) {
			return lines[i:]
		}
	}
	// The first of them are cut off, too.
	for known = known[min(1, len(known)):]; len(known) > 0; known = known[1:] {
		if len(known) <= len(lines) && slices.Equal(lines[:len(known)], known) {
			return lines[len(known):]
		}
	}
	return lines
}
