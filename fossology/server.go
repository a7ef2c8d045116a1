package fossology

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"time"
)

// Options are what a server needs. The durations' defaults are in the comments.
type Options struct {
	Desk     Desk
	Stop     func(now bool) // end this scheduler: finish what runs, or kill it
	Agents   []string       // the types that it runs
	Revision string
	Log      *slog.Logger
	Idle     time.Duration // a connection on which nothing is said is closed; 10 min
	Patience time.Duration // for one command; 15 s
}

const (
	// longest is the longest command: FOSSology's scheduler read so much at once.
	longest = 1024
	// rest is how long is waited for the rest of half a word: no command ends
	// in a newline, and each is sent in one piece.
	rest = 250 * time.Millisecond
	// most is how many may talk at once.
	most = 64
)

// Server listens. A client that reaches its port may kill jobs and stop the scheduler: like FOSSology's own it has
// no password.
type Server struct {
	options  Options
	listener net.Listener
	ctx      context.Context
	cancel   context.CancelFunc
	talks    sync.WaitGroup

	mu   sync.Mutex
	open map[net.Conn]bool // nil: closed
}

// Listen answers at an address until Close.
func Listen(address string, o Options) (*Server, error) {
	if o.Idle == 0 {
		o.Idle = 10 * time.Minute
	}
	if o.Patience == 0 {
		o.Patience = 15 * time.Second
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("answer FOSSology's front end: %w", err)
	}
	s := &Server{options: o, listener: l, open: map[net.Conn]bool{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.talks.Go(s.accept)
	return s, nil
}

// Address is where it listens.
func (s *Server) Address() net.Addr { return s.listener.Addr() }

func (s *Server) port() int {
	if a, ok := s.Address().(*net.TCPAddr); ok {
		return a.Port
	}
	return 0
}

// Close ends all connections, and returns when nothing is done for any of them.
func (s *Server) Close() {
	s.cancel()
	_ = s.listener.Close() // nothing was to be written
	s.mu.Lock()
	for conn := range s.open {
		_ = conn.Close()
	}
	s.open = nil
	s.mu.Unlock()
	s.talks.Wait()
}

func (s *Server) accept() {
	for {
		conn, err := s.listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // out of descriptors, say
			s.options.Log.Warn("fossology: a connection could not be taken", "error", err)
			select {
			case <-time.After(time.Second):
			case <-s.ctx.Done():
			}
		case s.admit(conn):
			s.talks.Go(func() { s.talk(conn) })
		default:
			_ = conn.Close()
		}
	}
}

func (s *Server) admit(conn net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil || len(s.open) >= most {
		return false
	}
	s.open[conn] = true
	return true
}

// talk answers one connection to its end. What one read brings is a command,
// since nothing else says where it ends: with a newline or without.
func (s *Server) talk(conn net.Conn) {
	defer func() {
		s.mu.Lock()
		delete(s.open, conn)
		s.mu.Unlock()
		_ = conn.Close() // an error here cannot be reported
	}()
	buffer, have := make([]byte, longest), 0
	for {
		wait := s.options.Idle
		if have > 0 {
			wait = rest
		}
		_ = conn.SetReadDeadline(time.Now().Add(wait))
		n, err := conn.Read(buffer[have:])
		have += n
		text := string(buffer[:have])
		if err == nil && have < longest && !strings.HasSuffix(text, "\n") && begun(text) {
			continue
		}
		if have == longest || strings.Contains(text, " HTTP/") { // a browser was sent here
			return
		}
		for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == '\r' || r == 0 }) {
			if !s.say(conn, line) {
				return
			}
		}
		if err != nil && (have == 0 || !errors.Is(err, os.ErrDeadlineExceeded)) {
			return
		}
		have = 0
	}
}

// say answers one line; false: that was the last one. If the answer cannot be written, the client has gone: fo_cli
// does not wait for an answer.
func (s *Server) say(conn net.Conn, line string) (more bool) {
	if strings.TrimSpace(line) == "" {
		return true
	}
	c, ok := parse(line)
	text, last := fmt.Sprintf("Invalid command: %q\n", line), false
	if ok {
		ctx, cancel := context.WithTimeout(s.ctx, s.options.Patience)
		text, last = s.answer(ctx, c)
		cancel()
	}
	level := slog.LevelInfo
	if words[c.word] { // the front end asks with every page
		level = slog.LevelDebug
	}
	s.options.Log.Log(s.ctx, level, "fossology: was told", "command", line, "from", conn.RemoteAddr().String(), "answer",
		strings.SplitN(text, "\n", 2)[0])
	_ = conn.SetWriteDeadline(time.Now().Add(s.options.Patience))
	_, _ = conn.Write([]byte(text))
	if c.word == "stop" || c.word == "die" {
		s.options.Stop(c.word == "die")
	}
	return !last
}
