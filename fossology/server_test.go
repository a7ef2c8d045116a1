package fossology

import (
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"
)

const patience = time.Minute

// open gives a server that has no desk, and where it listens.
func open(t *testing.T, o Options) (s *Server, dial func() net.Conn) {
	t.Helper()
	o.Agents, o.Log, o.Revision = []string{"nomos", "ununpack"}, slog.New(slog.DiscardHandler), "1.2"
	s, err := Listen("127.0.0.1:0", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, func() net.Conn {
		t.Helper()
		conn, err := net.Dial("tcp", s.Address().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		_ = conn.SetDeadline(time.Now().Add(patience))
		return conn
	}
}

// say writes as it is, in one piece.
func say(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
}

// reads reads so many bytes.
func reads(t *testing.T, conn net.Conn, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if n, err := io.ReadFull(conn, got); err != nil || string(got) != want {
		t.Fatalf("read %q, %v, want %q", got[:n], err, want)
	}
}

// ended reads to the end of the connection.
func ended(t *testing.T, conn net.Conn) string {
	t.Helper()
	rest, err := io.ReadAll(conn)
	if nerr, ok := err.(net.Error); ok && nerr.Timeout() {
		t.Fatalf("it is still open, and said %q", rest)
	}
	return string(rest)
}

// A command ends where its piece ends, with a newline or without; what comes in
// two pieces is one.
func TestServer_CommandsNeedNoNewline(t *testing.T) {
	t.Parallel()
	_, dial := open(t, Options{})
	conn := dial()
	const agents = "received\nnomos ununpack \nend\n"
	say(t, conn, "agents")
	reads(t, conn, agents)
	say(t, conn, "agents\n")
	reads(t, conn, agents)
	say(t, conn, "verbose\r\nagents\r\n")
	reads(t, conn, "level: 0\nreceived\n"+agents)
	say(t, conn, "age")
	say(t, conn, "nts")
	reads(t, conn, agents)
	say(t, conn, "nonsense 7")
	reads(t, conn, "Invalid command: \"nonsense 7\"\n")
	say(t, conn, "kill 7")
	reads(t, conn, "ERROR: invalid kill command: it is kill JOB \"MESSAGE\"\nreceived\n")
	say(t, conn, "close")
	if got := ended(t, conn); got != "received\nCLOSE\n" {
		t.Errorf("close is answered with %q", got)
	}
}

// fo_cli writes and is gone: its command counts all the same.
func TestServer_WhoLeavesHasSaidIt(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]bool{"stop": false, "die": true} {
		told := make(chan bool, 1)
		_, dial := open(t, Options{Stop: func(now bool) { told <- now }})
		conn := dial()
		say(t, conn, word)
		_ = conn.Close()
		select {
		case now := <-told:
			if now != want {
				t.Errorf("%s: now is %v", word, now)
			}
		case <-time.After(patience):
			t.Fatalf("%s was not heard", word)
		}
	}
}

// A page in a browser can send text to this port, but not its commands.
func TestServer_ABrowserIsNotObeyed(t *testing.T) {
	t.Parallel()
	stopped := make(chan bool, 1)
	s, dial := open(t, Options{Stop: func(bool) { stopped <- true }})
	conn := dial()
	say(t, conn, "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\ndie\r\nstop\r\n")
	if got := ended(t, conn); got != "" {
		t.Errorf("it is told %q", got)
	}
	long := dial()
	say(t, long, strings.Repeat("x", 3*longest)+"\nstop\n")
	ended(t, long)
	s.Close()
	if len(stopped) != 0 {
		t.Error("it was stopped")
	}
}

// Who says nothing is let go, and only so many may talk at once.
func TestServer_Bounds(t *testing.T) {
	t.Parallel()
	_, dial := open(t, Options{Idle: 10 * time.Millisecond})
	if got := ended(t, dial()); got != "" {
		t.Errorf("who says nothing is told %q", got)
	}
	s, dial := open(t, Options{})
	for range most {
		conn := dial()
		say(t, conn, "verbose")
		reads(t, conn, "level: 0\nreceived\n")
	}
	if got := ended(t, dial()); got != "" {
		t.Errorf("one too many is told %q", got)
	}
	s.Close() // ends those that are open
}
