package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"bellhop/client/agent"
	"bellhop/scheduler"
)

var errGoexit = errors.New("the handler ended its goroutine (runtime.Goexit) and returned nothing")

// What is kept of what a handler says in one attempt.
const (
	maxLogBytes = 1 << 20
	maxLogLines = 10_000
)

// failPatience is how long a handler may take to return when its attempt has failed.
const failPatience = 2 * time.Second

// voice hears what a job says while its work goes on.
type voice struct {
	child *child
	line  scheduler.Line
	began time.Time

	asking sync.Mutex // one asks for a lock at a time

	mu    sync.Mutex
	over  bool
	lines int
	bytes int
	has   words
}

// words are what counts of what was said.
type words struct {
	answer    *scheduler.Answer
	refused   string // why the line fails, whatever becomes of it
	successes int
	locks     bool // some were asked for
	failed    *scheduler.LockAnswer
}

func (v *voice) Log(level, text string) {
	at := scheduler.LevelInfo
	switch level {
	case "debug":
		at = scheduler.LevelDebug
	case "error":
		at = scheduler.LevelError
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		v.keep(at, line)
	}
}

// keep notes a line. mu is held.
func (v *voice) keep(level scheduler.Level, text string) {
	if v.over || v.lines > maxLogLines || v.bytes > maxLogBytes {
		return
	}
	if v.lines++; v.lines > maxLogLines || v.bytes+len(text) > maxLogBytes {
		v.bytes = maxLogBytes + 1
		level, text = scheduler.LevelNote, scheduler.Truncated+"more than 1 MiB or 10,000 lines in one attempt"
	}
	v.bytes += len(text)
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
	v.child.worker.say([]scheduler.Entry{{Claim: v.line.Claim, Attempt: v.line.Attempt, Child: v.child.name,
		Host: v.child.host, Level: level, At: time.Now(), Text: text}})
}

func (v *voice) Give(field string, value any) {
	if field == "success" {
		v.mu.Lock()
		v.has.successes++
		v.mu.Unlock()
		return
	}
	raw, err := json.Marshal(value)
	if err != nil {
		v.Log("error", fmt.Sprintf("what the handler gave as %s is not valid JSON: %v", field, err))
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	switch how, ok := scheduler.ReadHowFar(raw); {
	case v.over:
	case v.line.Item != 0: // an item has no columns of its own
		v.keep(scheduler.LevelInfo, field+" "+string(raw))
	case field == "result":
		v.give().Result, v.has.refused = scheduler.ReadResult(raw, scheduler.DefaultResult)
	case ok:
		how.Claim = v.line.Claim
		v.child.worker.howFar(how)
	default:
		v.keep(scheduler.LevelInfo, field+" "+string(raw))
	}
}

// give is what the answer comes with. mu is held.
func (v *voice) give() *scheduler.Answer {
	if v.has.answer == nil {
		v.has.answer = &scheduler.Answer{}
	}
	return v.has.answer
}

func (v *voice) Ask(ctx context.Context, r agent.LockRequest) ([]string, error) {
	v.asking.Lock()
	defer v.asking.Unlock()
	switch {
	case v.isOver():
		return nil, fmt.Errorf("%w: the job is over", agent.ErrRefused)
	case v.line.Item != 0:
		return nil, fmt.Errorf("%w: an item cannot ask for locks; let its query say by a column named locks which it needs",
			agent.ErrRefused)
	case len(r.Lock)+len(r.Unlock) == 0:
		return nil, fmt.Errorf("%w: no locks are named; write db:orders=exclusive", agent.ErrRefused)
	}
	v.mu.Lock()
	v.has.locks = true
	v.mu.Unlock()
	answers := make(chan scheduler.LockAnswer, 1)
	v.child.worker.ask(scheduler.LockAsk{Claim: v.line.Claim, Locks: r.Lock, Any: r.Any, Unlock: r.Unlock},
		func(a scheduler.LockAnswer) { answers <- a })
	select {
	case a := <-answers:
		switch {
		case a.Failed != "":
			v.fail(&a)
			return nil, fmt.Errorf("%w: %s", agent.ErrAttemptFailed, a.Failed)
		case a.Refused != "":
			return nil, fmt.Errorf("%w: %s", agent.ErrRefused, strings.TrimSpace(a.Refused))
		}
		return append(a.Granted, a.Unlocked...), nil
	case <-ctx.Done(): // the request stays: what it brings ends with the job
		return nil, context.Cause(ctx)
	}
}

// Keep has a step kept, in a transaction of its own.
func (v *voice) Keep(ctx context.Context, name string, output json.RawMessage) error {
	switch {
	case v.isOver():
		return fmt.Errorf("%w: the job is over", agent.ErrRefused)
	case v.line.Item != 0:
		return fmt.Errorf("%w: an item keeps no steps; submit it as a job of its own", agent.ErrRefused)
	}
	err := v.child.worker.saveStep(ctx, v.line.Claim, scheduler.SavedStep{Name: name, Output: output})
	var refused *scheduler.StepRefused
	if errors.As(err, &refused) {
		v.fail(&scheduler.LockAnswer{Failed: err.Error()})
		return fmt.Errorf("%w: %w", agent.ErrAttemptFailed, err)
	}
	return err
}

func (v *voice) isOver() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.over
}

// fail notes that the attempt has failed. A handler that does not return is told to.
func (v *voice) fail(a *scheduler.LockAnswer) {
	v.mu.Lock()
	v.has.failed = a
	v.mu.Unlock()
	time.AfterFunc(failPatience, func() {
		c := v.child
		c.mu.Lock()
		defer c.mu.Unlock()
		if slices.Contains(c.hand, v) {
			c.stop(agent.ErrStopped)
		}
	})
}

// end is after the last word: what is said later is dropped.
func (v *voice) end() words {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.over = true
	return v.has
}

// event is the answer to the line.
func (w words) event(v *voice, verdict agent.Verdict) scheduler.ChildEvent {
	ev := scheduler.ChildEvent{Kind: scheduler.EventAnswered, At: time.Now(), Claim: v.line.Claim, Item: v.line.Item,
		OK: verdict.Err == nil, ExitCode: verdict.ExitCode, Successes: w.successes, Answer: w.answer, Locks: w.locks}
	switch {
	case w.failed != nil:
		ev.OK, ev.ExitCode, ev.Error, ev.Again = false, 1, w.failed.Failed, w.failed.Again
	case w.refused != "": // also where it failed: what it wanted kept is told to be lost
		ev.OK, ev.ExitCode, ev.Error = false, max(1, verdict.ExitCode), w.refused
		ev.Answer.Never = true
	case verdict.Err != nil:
		wishes(&ev, verdict)
	case verdict.EndedAs != "":
		endsAs(&ev, verdict.EndedAs)
	}
	return ev
}

// endsAs notes that there was nothing to do. A word that is none fails the line.
func endsAs(ev *scheduler.ChildEvent, said agent.EndedAs) {
	a := scheduler.Answer{}
	if ev.Answer != nil {
		a = *ev.Answer
	}
	as, err := scheduler.ReadEndedAs(string(said))
	if err != nil {
		ev.OK, ev.ExitCode, ev.Error, ev.Message = false, 1, scheduler.SaidFailed, "agent.EndedAs: "+err.Error()
		a.Never = true
	}
	a.EndedAs = as
	ev.Answer = &a
}

// wishes notes why it failed, and what the handler wants to become of the job.
func wishes(ev *scheduler.ChildEvent, verdict agent.Verdict) {
	ev.Error, ev.Message = scheduler.SaidFailed, verdict.Err.Error()
	a := scheduler.Answer{}
	if ev.Answer != nil {
		a = *ev.Answer
	}
	a.Never, a.After, a.Snooze = verdict.Never, verdict.After, verdict.Snooze
	for _, d := range []time.Duration{a.After, a.Snooze} {
		if d == 0 {
			continue
		}
		if err := scheduler.CheckPause(d); err != nil {
			ev.Message += "; " + err.Error()
			ev.ExitCode = max(1, ev.ExitCode)
			a.After, a.Snooze = 0, 0
		}
	}
	if r := verdict.Rest; r != nil {
		rest := scheduler.Resting{Event: r.Event, Pause: r.Pause, KeepLocks: r.KeepLocks, Children: r.ChildrenJSON()}
		switch err := rest.Check(); {
		case err != nil:
			ev.Message, ev.ExitCode = "agent.Rest: "+err.Error(), max(1, ev.ExitCode)
		case ev.Item != 0:
			ev.Message, ev.ExitCode = "an item cannot sleep, await an event or have children; submit it as a job of its own", max(1, ev.ExitCode)
		default:
			a.Rest = &rest
		}
	}
	if a.Never || a.After != 0 || a.Snooze != 0 || a.Rest != nil || ev.Answer != nil {
		ev.Answer = &a
	}
}
