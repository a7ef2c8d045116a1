package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Mode says how a lock is wanted.
type Mode string

const (
	Exclusive Mode = "exclusive" // alone
	Shared    Mode = "shared"    // beside others that share it
)

// Why a lock was not granted.
var (
	// ErrRefused: the lock cannot be asked for so; the text says what to write. The job goes on.
	ErrRefused = errors.New("refused")
	// ErrAttemptFailed: the attempt has failed, because too few locks were free (it
	// is tried again, and counts as no attempt), or because jobs wait for each other in a
	// circle. Return it: the process is killed if work does not end within 2 s.
	ErrAttemptFailed = errors.New("the attempt has failed")
)

// Lock waits until the job has a lock, such as db:orders, and gives what gives it
// back. All that a job holds ends with it, so that unlock need not be called. When ctx
// ends, so does the wait, and with it the job: the request stays.
func (j *Job[T]) Lock(ctx context.Context, name string, mode Mode) (unlock func() error, err error) {
	if _, err := j.voice.Ask(ctx, LockRequest{Lock: []string{name + "=" + string(mode)}}); err != nil {
		return nil, err
	}
	return func() error {
		_, err := j.voice.Ask(context.WithoutCancel(ctx), LockRequest{Unlock: []string{name}})
		return err
	}, nil
}

// LockAll waits until the job has all of these at once: db:orders=exclusive, db:logs=shared.
func (j *Job[T]) LockAll(ctx context.Context, locks ...string) error {
	_, err := j.voice.Ask(ctx, LockRequest{Lock: locks})
	return err
}

// LockAny takes the first n of these that are free, and does not wait: node:a=exclusive,
// node:b=exclusive. It gives those that the job has. Are there fewer, the error is ErrAttemptFailed.
func (j *Job[T]) LockAny(ctx context.Context, n int, of ...string) ([]string, error) {
	return j.voice.Ask(ctx, LockRequest{Lock: of, Any: n})
}

// LockRequest is one thing that a job says about locks: all of Lock, or so many
// of them as are free now; or what it gives back.
type LockRequest struct {
	Lock   []string
	Any    int // 0: all
	Unlock []string
}

// message is the request in the json dialect.
func (r LockRequest) message() any {
	switch {
	case r.Unlock != nil:
		return unlockAll{r.Unlock}
	case r.Any != 0:
		var m lockSome
		m.Lock.Any, m.Lock.Of = r.Any, r.Lock
		return m
	}
	return lockAll{r.Lock}
}

// The messages about locks.
type (
	lockAll struct {
		Lock []string `json:"lock"`
	}
	lockSome struct {
		Lock struct {
			Any int      `json:"any"`
			Of  []string `json:"of"`
		} `json:"lock"`
	}
	unlockAll struct {
		Unlock []string `json:"unlock"`
	}
	lockReply struct {
		Granted  []string `json:"granted"`
		Unlocked []string `json:"unlocked"`
		Refused  *string  `json:"refused"`
		Failed   *string  `json:"failed"`
		Step     *string  `json:"step"`
	}
)

// asReply reads an answer about locks, or a step; false: the line is none, but a job.
func asReply(line []byte) (r lockReply, is bool) {
	if bytes.HasPrefix(line, []byte(`{"id":`)) || json.Unmarshal(line, &r) != nil {
		return r, false
	}
	return r, r.Granted != nil || r.Unlocked != nil || r.Refused != nil || r.Failed != nil || r.Step != nil
}

// Ask says one thing about locks, and waits for the answer. One asks at a time.
func (w *words) Ask(ctx context.Context, r LockRequest) ([]string, error) {
	return w.ask(ctx, r.message())
}

// ask says one thing that is answered, and waits for that.
func (w *words) ask(ctx context.Context, m any) ([]string, error) {
	select {
	case w.asking <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	w.say(m)
	select {
	case r := <-w.replies:
		<-w.asking
		switch {
		case r.Failed != nil:
			return nil, fmt.Errorf("%w: %s", ErrAttemptFailed, *r.Failed)
		case r.Refused != nil:
			return nil, fmt.Errorf("%w: %s", ErrRefused, strings.TrimSpace(*r.Refused))
		}
		return append(r.Granted, r.Unlocked...), nil
	case <-ctx.Done(): // the answer may come: no other goroutine may ask of this job
		return nil, context.Cause(ctx)
	}
}
