package main

import (
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// piped is a warm process in lockstep.
type piped interface {
	send(line []byte) error // and wait for its OK
	end()
}

// pipes is how many lines a second go to as many warm children and come back, one line in flight each, with nothing
// between but a goroutine a child.
func (b *bench) pipes(children, lines int, start func(program string) (piped, error)) (rate float64, err error) {
	var crew []piped
	defer func() {
		for _, c := range crew {
			c.end()
		}
	}()
	for range children {
		c, err := start(b.agent)
		if err != nil {
			return 0, err
		}
		crew = append(crew, c)
	}
	send := func(n int) error {
		var all sync.WaitGroup
		failed := make(chan error, children)
		for _, c := range crew {
			all.Go(func() {
				var line []byte
				for i := range n / children {
					line = append(strconv.AppendInt(append(line[:0], `id="`...), int64(i), 10), "\"\n"...)
					if err := c.send(line); err != nil {
						failed <- err
						return
					}
				}
			})
		}
		all.Wait()
		select {
		case err := <-failed:
			return err
		default:
			return nil
		}
	}
	if err := send(5000); err != nil { // warm
		return 0, err
	}
	began := time.Now()
	if err := send(lines); err != nil {
		return 0, err
	}
	return float64(lines) / time.Since(began).Seconds(), nil
}

// polled talks as an ordinary Go program does, through the runtime's poller.
type polled struct{ *child }

func startPolled(program string) (piped, error) {
	c, err := startChild(program, "")
	return polled{c}, err
}

func (p polled) send(line []byte) error {
	if _, err := p.in.Write(line); err != nil {
		return err
	}
	_, err := p.out.ReadSlice('\n')
	return err
}

// blocking talks through descriptors that the Go runtime does not watch: there is no cheaper way, but each child
// holds a thread of the program that waits for it.
type blocking struct {
	cmd     *exec.Cmd
	in, out *os.File
	to, of  int // their descriptors
	buf     [16]byte
}

func startBlocking(program string) (piped, error) {
	cmd := exec.Command(program)
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdin, cmd.Stdout = inR, outW
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	_, _ = inR.Close(), outW.Close()
	// Fd makes them blocking.
	c := &blocking{cmd: cmd, in: inW, out: outR, to: int(inW.Fd()), of: int(outR.Fd())}
	return c, c.read()
}

func (c *blocking) read() error {
	n, err := unix.Read(c.of, c.buf[:])
	if err == nil && (n == 0 || c.buf[n-1] != '\n') {
		err = io.ErrUnexpectedEOF
	}
	return err
}

func (c *blocking) send(line []byte) error {
	if _, err := unix.Write(c.to, line); err != nil {
		return err
	}
	return c.read()
}

func (c *blocking) end() {
	_, _ = c.in.Close(), c.out.Close()
	_ = c.cmd.Wait() // its stdin is closed: it ends
}
