package guard

import (
	"sync"
	"syscall"
)

// What goes over the line between the near guard and the far one is frames: a
// byte that says what it is, four that say how long, and so much of it.
//
//	near → far   R request, i stdin, z its end, h hangup, k kill, t answer to a tick, c credit
//	far → near   s f m x reports, o stdout, O its end, e stderr, E its end, t tick, c credit
//
// The three streams share one line, so each has credit: neither side sends more of a stream than the other has room
// for, and an unread stream holds up neither the others nor the ticks.
const (
	frameRequest = 'R'
	frameStdin   = 'i'
	frameNoMore  = 'z'
	frameHangup  = 'h'
	frameKill    = 'k'
	frameTick    = 't'
	frameCredit  = 'c'
	frameStdout  = 'o'
	frameOutEnd  = 'O'
	frameStderr  = 'e'
	frameErrEnd  = 'E'
)

const (
	frameHead   = 5
	framePiece  = 16 << 10  // of a stream, at most
	frameWindow = 128 << 10 // of a stream, on its way
	frameReturn = 32 << 10  // so much has to be written for credit to go back
)

// sender writes frames, each whole, from any goroutine.
type sender struct {
	mu     sync.Mutex
	fd     int
	broken bool
	buf    []byte
}

// send reports whether the frame was written. It waits as long as the line does.
func (s *sender) send(kind byte, parts ...[]byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken {
		return false
	}
	b := append(s.buf[:0], kind, 0, 0, 0, 0)
	for _, p := range parts {
		b = append(b, p...)
	}
	put32(b[1:1], uint32(len(b)-frameHead))
	if cap(b) <= 2*framePiece {
		s.buf = b
	}
	s.broken = writeFull(s.fd, b) != nil
	return !s.broken
}

func (s *sender) numbers(kind byte, list ...uint32) bool {
	var b [16]byte
	n := b[:0]
	for _, v := range list {
		n = put32(n, v)
	}
	return s.send(kind, n)
}

func writeFull(fd int, b []byte) error {
	for len(b) > 0 {
		n, err := syscall.Write(fd, b)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return err
		default:
			b = b[n:]
		}
	}
	return nil
}

// readFrame reads into buf, or into a longer one. A frame longer than any that
// is sent means that the other side does not speak this.
func readFrame(fd int, buf []byte) (kind byte, body []byte, err error) {
	var head [frameHead]byte
	if err := readFull(fd, head[:]); err != nil {
		return 0, nil, err
	}
	n := le32(head[1:])
	if n > framePiece && (head[0] != frameRequest || n > MaxRequest) {
		return 0, nil, syscall.EPROTO
	}
	if int(n) > len(buf) {
		buf = make([]byte, n)
	}
	return head[0], buf[:n], readFull(fd, buf[:n])
}

// intake is one stream on its way from a descriptor into frames.
type intake struct {
	fd        int
	kind, end byte
	to        *sender

	mu      sync.Mutex
	more    sync.Cond
	credit  int
	reading bool
	done    chan struct{} // closed when all of the stream is sent
}

func newIntake(fd int, kind, end byte, to *sender) *intake {
	i := &intake{fd: fd, kind: kind, end: end, to: to, credit: frameWindow, done: make(chan struct{})}
	i.more.L = &i.mu
	return i
}

// run reads and sends until the stream or the line ends.
func (i *intake) run() {
	defer close(i.done)
	buf := make([]byte, framePiece)
	for {
		i.mu.Lock()
		for i.credit <= 0 {
			i.more.Wait()
		}
		most := min(i.credit, len(buf))
		i.reading = true
		i.mu.Unlock()
		n, err := syscall.Read(i.fd, buf[:most])
		i.mu.Lock()
		i.reading = false
		i.credit -= max(0, n)
		i.mu.Unlock()
		switch {
		case err == syscall.EINTR:
		case err != nil || n <= 0:
			i.to.send(i.end)
			return
		case !i.to.send(i.kind, buf[:n]):
			return
		}
	}
}

// idle reports whether it waits for the other end.
func (i *intake) idle() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.reading
}

func (i *intake) grant(n uint32) {
	i.mu.Lock()
	i.credit = min(i.credit+int(min(n, frameWindow)), frameWindow)
	i.mu.Unlock()
	i.more.Signal()
}

// outlet is one stream on its way from frames to a descriptor. It holds as much
// as there is credit for.
type outlet struct {
	fd    int
	kind  byte
	to    *sender      // credit goes back on it
	close func(fd int) // when all is written

	mu    sync.Mutex
	more  sync.Cond
	data  []byte
	ended bool
	done  chan struct{} // closed when all is written, or the reader is gone
}

func newOutlet(fd int, kind byte, to *sender, close func(fd int)) *outlet {
	o := &outlet{fd: fd, kind: kind, to: to, close: close, done: make(chan struct{})}
	o.more.L = &o.mu
	return o
}

// put takes the next piece; false: more than there was credit for.
func (o *outlet) put(b []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended || len(o.data)+len(b) > frameWindow {
		return o.ended
	}
	o.data = append(o.data, b...)
	o.more.Signal()
	return true
}

func (o *outlet) end() {
	o.mu.Lock()
	o.ended = true
	o.mu.Unlock()
	o.more.Signal()
}

// run writes until the stream has ended. Data without a reader is dropped, and its credit given back, so that the
// line goes on.
func (o *outlet) run() {
	defer close(o.done)
	var buf []byte
	owed, deaf := 0, false
	for {
		o.mu.Lock()
		for len(o.data) == 0 && !o.ended {
			o.more.Wait()
		}
		buf, o.data = o.data, buf[:0]
		ended := o.ended
		o.mu.Unlock()
		deaf = deaf || writeFull(o.fd, buf) != nil
		if ended {
			o.mu.Lock()
			rest := len(o.data)
			o.mu.Unlock()
			if rest == 0 {
				o.close(o.fd)
				return
			}
		}
		if owed += len(buf); owed >= frameReturn {
			o.to.numbers(frameCredit, uint32(o.kind), uint32(owed))
			owed = 0
		}
	}
}
