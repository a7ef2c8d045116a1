package look

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/term"

	"bellhop/cmd/bellhop/internal/cli"
)

// seen is what has become of a look, and typed what has become of reading keys.
type (
	seen struct {
		view     topView
		err      error
		panicked string
	}
	typed struct {
		text []byte
		err  error
	}
)

// live shows top on a terminal until q, the end of ctx, or an error.
func live(
	ctx context.Context, a *cli.App, out *os.File, every time.Duration, look func(context.Context) (topView, error),
) error {
	var looking sync.WaitGroup
	defer looking.Wait() // its connection is closed next
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	colour := coloured
	if !a.Coloured() {
		colour = func(line string) string { return line }
	}
	t, err := openTerminal(a.Stdin, out, colour)
	if err != nil {
		return err
	}
	defer t.close()
	looks, input := make(chan seen, 1), make(chan typed, 1)
	begin := func() { looking.Go(func() { looks <- see(ctx, look) }) }
	read := func() { input <- readKeys(a.Stdin) } // one at a time: what is typed after q is the shell's
	clock := time.NewTicker(time.Second)          // also while a look gets no answer
	defer clock.Stop()
	var again <-chan time.Time
	begin()
	go read()
	for s := newScreen(); ; {
		if width, height, err := term.GetSize(int(out.Fd())); err == nil {
			s = s.sized(width, height)
		}
		if err := t.draw(s.width, s.height, s.lines()); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-t.resized:
		case s.now = <-clock.C:
		case <-again:
			s.asked = time.Now()
			begin()
		case l := <-looks:
			if l.panicked != "" {
				panic(l.panicked) // once the terminal is as it was
			}
			if l.err != nil {
				return l.err
			}
			s, again = s.looked(l.view), time.After(every)
		case in := <-input:
			var ends bool
			if s, ends = s.keys(keys(in.text)); ends {
				return nil
			}
			if in.err == nil {
				go read()
			} else if !errors.Is(in.err, io.EOF) {
				return in.err
			}
		}
	}
}

// see looks once. Where that panics the terminal is to be restored before the message is printed.
func see(ctx context.Context, look func(context.Context) (topView, error)) (s seen) {
	defer func() {
		if p := recover(); p != nil {
			s.panicked = fmt.Sprintf("%v\n\n%s", p, debug.Stack())
		}
	}()
	s.view, s.err = look(ctx)
	return s
}

func readKeys(in io.Reader) typed {
	b := make([]byte, 256)
	n, err := in.Read(b)
	return typed{b[:n], err}
}
