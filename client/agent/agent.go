package agent

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"
)

// ErrStopped is why the context of a job ends while it runs: the scheduler has
// closed the agent's stdin, or sent it a signal to end. Soon after, it kills
// the process (limits.kill_after).
var ErrStopped = errors.New("the agent was told to stop")

// Serve does jobs of a type with work, one after the other, until there are no
// more for this process. The type has to be the configured one.
//
// work's result is the attempt's: nil is success; an error fails it, with its
// text as the job's error, and the exit code of what errors.As finds in it that
// has a method ExitCode() int (as *exec.ExitError has), or 1. A panic fails the
// attempt too, its stack is kept with the job, and the agent goes on.
//
// The context ends when the job is to stop; its cause is [ErrStopped]. An error
// of work's is not told then, since it fails nothing: a job that was cancelled
// is cancelled, one whose scheduler ends runs again elsewhere. Work that is done
// all the same is.
//
// While Serve runs os.Stdout is os.Stderr, since stdout is the protocol's: what
// is printed is kept with the job. Serve is called once, from main; its error
// is that of stdin or stdout.
func Serve[T any](typ string, work func(ctx context.Context, job *Job[T]) error) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGHUP, syscall.SIGTERM, os.Interrupt)
	defer stop()
	out := os.Stdout
	os.Stdout = os.Stderr
	defer func() { os.Stdout = out }()
	return Run(ctx, os.Stdin, out, typ, work)
}

// Run is Serve over other streams than the process's own, for tests. It ends
// when in does, or ctx; what reads in may then go on until in is closed.
func Run[T any](
	ctx context.Context, in io.Reader, out io.Writer, typ string, work func(ctx context.Context, job *Job[T]) error,
) error {
	ctx, stop := stoppable(ctx)
	defer stop(nil)
	to := &voice{out: out}
	(&words{voice: to}).say(hello{1, typ})
	lines, replies, ended := make(chan []byte), make(chan lockReply, 1), make(chan error, 1)
	go func() {
		ended <- read(ctx, in, lines, replies)
		stop(ErrStopped)
	}()
	for {
		select {
		case line := <-lines:
			if err := answer(ctx, newWords(to, replies), line, work); err != nil {
				return fmt.Errorf("answer the scheduler: %w", err)
			}
		case <-ctx.Done():
			select {
			case err := <-ended:
				return err
			default: // a signal: who reads may never come back
				return nil
			}
		}
	}
}

// stoppable ends with ErrStopped when parent ends.
func stoppable(parent context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, stop := context.WithCancelCause(context.WithoutCancel(parent))
	unhook := context.AfterFunc(parent, func() { stop(ErrStopped) })
	return ctx, func(cause error) {
		unhook()
		stop(cause)
	}
}

// read hands the lines over until there are none. It reads on while one is
// worked on, so that the end of in is noticed, and answers about locks are heard.
func read(ctx context.Context, in io.Reader, lines chan<- []byte, replies chan lockReply) error {
	for r := bufio.NewReader(in); ; {
		line, err := r.ReadBytes('\n')
		reply, is := lockReply{}, false
		if err == nil {
			reply, is = asReply(line)
		}
		switch {
		case is:
			select {
			case replies <- reply:
			default: // to a question that nobody had
			}
			continue
		case err == nil:
			select {
			case <-replies: // who asked for it did not wait, and its job is over
			default:
			}
			select {
			case lines <- line:
				continue
			case <-ctx.Done():
				return nil
			}
		}
		if err == io.EOF {
			return nil
		}
		return fmt.Errorf("read from the scheduler: %w", err)
	}
}

// answer does one line, and says how that went. Its error is that of saying it.
func answer[T any](
	ctx context.Context, say *words, line []byte, work func(ctx context.Context, job *Job[T]) error,
) error {
	job, err := parse[T](line)
	if err == nil {
		job.words = say
		err = safely(ctx, job, work)
	}
	if err == nil {
		return say.last(done{OK: true})
	}
	if ctx.Err() != nil {
		return nil // it was made to give up: whose wish that was, the scheduler knows
	}
	var later Snooze
	if errors.As(err, &later) {
		return say.last(snooze{time.Duration(later).String()})
	}
	code := 1
	var exit interface{ ExitCode() int }
	if errors.As(err, &exit) && exit.ExitCode() > 0 && exit.ExitCode() <= 255 {
		code = exit.ExitCode()
	}
	text := err.Error()
	if text == "" {
		text = fmt.Sprintf("%T", err)
	}
	m := failed{Fail: text, ExitCode: code}
	var wish *wished
	switch {
	case !errors.As(err, &wish):
	case wish.never:
		m.Retry = false
	default:
		m.Retry = wish.after.String()
	}
	return say.last(m)
}

// safely turns a panic into an error.
func safely[T any](ctx context.Context, job *Job[T], work func(ctx context.Context, job *Job[T]) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			job.Errorf("panic: %v\n%s", p, debug.Stack())
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return work(ctx, job)
}

// parse reads a line of the scheduler's.
func parse[T any](line []byte) (*Job[T], error) {
	var w struct {
		ID          int64             `json:"id"`
		Attempt     int               `json:"attempt"`
		Fence       int64             `json:"fence"`
		Args        *string           `json:"args"`
		Item        json.RawMessage   `json:"item"`
		Vars        map[string]string `json:"vars"`
		Key         string            `json:"key"`
		Traceparent string            `json:"traceparent"`
	}
	if err := json.Unmarshal(line, &w); err != nil {
		return nil, badArgs{fmt.Errorf("what the scheduler wrote is no job: %w", err)}
	}
	job := &Job[T]{
		ID:          w.ID,
		Attempt:     w.Attempt,
		Fence:       w.Fence,
		Vars:        w.Vars,
		Key:         w.Key,
		Traceparent: w.Traceparent,
	}
	var data []byte
	switch text, is := any(&job.Args).(*string); {
	case w.Item != nil:
		if err := json.Unmarshal(w.Item, &job.Item); err != nil {
			return nil, badArgs{fmt.Errorf("read the item: %w", err)}
		}
		if !is {
			data = w.Item
		}
	case w.Args == nil:
	case is:
		*text = *w.Args
	default:
		data = []byte(*w.Args)
	}
	if len(bytes.TrimSpace(data)) > 0 {
		if err := json.Unmarshal(data, &job.Args); err != nil {
			return nil, badArgs{fmt.Errorf("the job's args are not what the agent takes: %w", err)}
		}
	}
	return job, nil
}

// badArgs fails a job with exit code 2: another try gives the same.
type badArgs struct{ error }

func (badArgs) ExitCode() int   { return 2 }
func (b badArgs) Unwrap() error { return b.error }
