package agents

import (
	"os"
	"sync"
	"syscall"

	"bellhop/agents/guard"
)

const chunkSize = 32 << 10

// chunks are borrowed only while there is something to read, so that an idle
// child holds no buffer.
var chunks = sync.Pool{New: func() any { return new([chunkSize]byte) }}

// stream reads an agent's stdout or stderr. Its own goroutine waits in run;
// drain reads what is there already from another one.
type stream struct {
	file *os.File
	fd   int
	// hear is called with each line, quiet when all lines of one read are
	// heard, end once after all. All under mu.
	hear  func(line []byte, truncated bool)
	quiet func()
	end   func()

	mu    sync.Mutex
	ended bool
	lines cutter
	rest  bool // it ended within a line
}

// run reads until the end of the stream, or until its read deadline.
func (s *stream) run() {
	raw, err := s.file.SyscallConn()
	if err == nil {
		_ = raw.Read(s.ready) // an end by deadline is an end
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read()
	s.ended = true
	s.rest = len(s.lines.part) > 0
	s.lines.flush(s.hear)
	s.end()
	_ = s.file.Close()
}

// ready is called by the runtime whenever the stream may have something.
func (s *stream) ready(uintptr) (ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.read()
}

// drain takes what is there now.
func (s *stream) drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read()
}

// read takes all there is without waiting, and reports the stream's end.
func (s *stream) read() (ended bool) {
	if s.ended {
		return true
	}
	chunk := chunks.Get().(*[chunkSize]byte)
	defer chunks.Put(chunk)
	for {
		n, err := syscall.Read(s.fd, chunk[:])
		switch {
		case n > 0:
			s.lines.feed(chunk[:n], s.hear)
			s.quiet()
		case err == syscall.EINTR:
		case err == syscall.EAGAIN:
			return false
		default:
			s.ended = true
			return true
		}
	}
}

// newPipe makes a pipe whose end at our side does not block, and whose end at
// the agent's side does, as agents expect. Both close on exec.
func newPipe(weRead bool) (ours *os.File, fd int, theirs int, err error) {
	var p [2]int
	if err := guard.Pipe(&p, true); err != nil {
		return nil, -1, -1, os.NewSyscallError("pipe", err)
	}
	fd, theirs = p[1], p[0]
	if weRead {
		fd, theirs = p[0], p[1]
	}
	if err := setFlags(theirs, 0); err != nil {
		_, _ = syscall.Close(p[0]), syscall.Close(p[1])
		return nil, -1, -1, err
	}
	return os.NewFile(uintptr(fd), "pipe"), fd, theirs, nil
}

// newLink makes a pair of sockets, of which ours does not block. Both close on exec.
func newLink() (ours *os.File, fd int, theirs int, err error) {
	p, err := guard.StreamPair()
	if err != nil {
		return nil, -1, -1, os.NewSyscallError("socketpair", err)
	}
	if err := setFlags(p[0], syscall.O_NONBLOCK); err != nil {
		_, _ = syscall.Close(p[0]), syscall.Close(p[1])
		return nil, -1, -1, err
	}
	return os.NewFile(uintptr(p[0]), "link"), p[0], p[1], nil
}

// setFlags sets the flags of a file that has no others than those.
func setFlags(fd int, flags int) error {
	_, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_SETFL, uintptr(flags))
	if errno != 0 {
		return os.NewSyscallError("fcntl", errno)
	}
	return nil
}
