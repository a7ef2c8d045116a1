package agent

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
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
			default: // a signal: the reader may never come back
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
// worked on, so that the end of in is noticed, and answers about locks and steps are heard.
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
			default: // to a question that was not asked
			}
			continue
		case err == nil:
			select {
			case <-replies: // the asking handler did not wait, and its job is over
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
	v := Verdict{ExitCode: 2}
	var l Line
	if l, v.Err = parse(line); v.Err == nil {
		v = Do(ctx, l, say, work)
	}
	switch {
	case v.Err == nil:
		return say.last(done{OK: true, EndedAs: v.EndedAs})
	case v.Stopped:
		return nil
	case v.Snooze != 0:
		return say.last(snooze{v.Snooze.String()})
	case v.Rest != nil:
		return say.last(v.Rest.message())
	}
	m := failed{Fail: v.Err.Error(), ExitCode: v.ExitCode}
	switch {
	case v.Never:
		m.Retry = false
	case v.After != 0:
		m.Retry = v.After.String()
	}
	return say.last(m)
}

// parse reads a line of the scheduler's.
func parse(line []byte) (l Line, err error) {
	if err = json.Unmarshal(line, &l); err != nil {
		return Line{}, fmt.Errorf("the scheduler wrote an invalid job: %w", err)
	}
	return l, nil
}
