package e2e

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/pgdev/pgtest"
)

// proxy stands between a scheduler and PostgreSQL and does to their
// connections what networks do. Healthy until told otherwise.
type proxy struct {
	t        *testing.T
	listener net.Listener
	dial     func() (net.Conn, error)

	mu    sync.Mutex
	fault fault
	wires map[net.Conn]string // both ends of what is open, with the client's application_name
	deaf  map[net.Conn]bool   // of these, the ones that swallow everything
	cuts  int                 // answers that were cut
}

// fault is what is wrong with the line, for one kind of client or all.
type fault struct {
	only   string        // application_name of the clients it is about; empty: all
	silent bool          // swallow everything, close nothing
	untold bool          // the end of one side is not told to the other
	delay  time.Duration // of every piece of data, each way
	chop   int           // hand on so many bytes at a time; 0: as they come
	// Cut the line (RST) in place of handing on this answer: the server has
	// done what it was asked, and nobody hears of it. nil: never.
	cut func(answer []byte) bool
}

// afterBytes cuts when so many bytes of answers have passed, again and again.
func afterBytes(next func() int) func([]byte) bool {
	left := next()
	return func(answer []byte) bool {
		if left -= len(answer); left >= 0 {
			return false
		}
		left = next()
		return true
	}
}

// before starts a proxy before any server.
func before(t *testing.T, network, address string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{t: t, listener: l, wires: map[net.Conn]string{}, deaf: map[net.Conn]bool{},
		dial: func() (net.Conn, error) { return net.Dial(network, address) }}
	var served sync.WaitGroup
	served.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			served.Go(func() { p.serve(client) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		p.reset("")
		served.Wait()
	})
	return p
}

// through starts a proxy before the database and gives its URL through it.
func through(t *testing.T, database string) (*proxy, string) {
	t.Helper()
	config, err := pgx.ParseConfig(database)
	if err != nil {
		t.Fatal(err)
	}
	network, address := "tcp", net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port)))
	if strings.HasPrefix(config.Host, "/") {
		network, address = "unix", filepath.Join(config.Host, fmt.Sprintf(".s.PGSQL.%d", config.Port))
	}
	p := before(t, network, address)
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(config.User, config.Password),
		Host:     p.listener.Addr().String(),
		Path:     "/" + config.Database,
		RawQuery: "sslmode=disable",
	}
	return p, u.String()
}

// set changes what is wrong, for open connections too.
func (p *proxy) set(f fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = f
}

// deafen makes the lines that are open now swallow everything for ever. New
// ones are well.
func (p *proxy) deafen() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for wire := range p.wires {
		p.deaf[wire] = true
	}
}

// reset sends RST on the open connections of one client, or of all.
func (p *proxy) reset(only string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for wire, name := range p.wires {
		if only == "" || only == name {
			abort(wire)
		}
	}
}

// abort closes with RST where the wire knows such a thing.
func abort(wire net.Conn) {
	if tcp, ok := wire.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = wire.Close()
}

func (p *proxy) answersCut() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cuts
}

func (p *proxy) serve(client net.Conn) {
	server, err := p.dial()
	if err != nil { // as if it were the server that refused
		abort(client)
		return
	}
	p.note("", client, server)
	defer p.forget(client, server)
	var both sync.WaitGroup
	name := make(chan string, 1)
	both.Go(func() { p.pump(client, server, name, true) })
	both.Go(func() { p.pump(server, client, name, false) })
	both.Wait()
}

// tellEnd ends the other side too, unless that is not to hear of it: then its
// own pump reads on.
func (p *proxy) tellEnd(wire net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.fault.untold {
		abort(wire)
	}
}

// pump carries one direction. The client's first words tell its name.
func (p *proxy) pump(from, to net.Conn, name chan string, asks bool) {
	defer abort(from)
	defer p.tellEnd(to)
	var who string
	buffer := make([]byte, 32<<10)
	for first := true; ; first = false {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		if first && asks {
			who = applicationName(buffer[:n])
			p.note(who, from, to)
			name <- who
		} else if first {
			who = <-name
		}
		swallow, delay, cut, chop := p.judge(from, who, buffer[:n], asks)
		switch {
		case cut:
			return
		case swallow:
			continue
		case delay > 0:
			timer := time.NewTimer(delay)
			<-timer.C
		}
		for piece := range slices.Chunk(buffer[:n], chop) {
			if _, err := to.Write(piece); err != nil {
				return
			}
		}
	}
}

func (p *proxy) judge(
	from net.Conn, who string, data []byte, asks bool,
) (swallow bool, delay time.Duration, cut bool, chop int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.fault
	if p.deaf[from] || f.only != "" && f.only != who {
		return p.deaf[from], 0, false, len(data)
	}
	if !asks && f.cut != nil && f.cut(data) {
		p.cuts++
		return false, 0, true, len(data)
	}
	if f.chop == 0 {
		f.chop = len(data)
	}
	return f.silent, f.delay, false, f.chop
}

func (p *proxy) note(name string, wires ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range wires {
		p.wires[w] = name
	}
}

func (p *proxy) forget(wires ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range wires {
		delete(p.wires, w)
		delete(p.deaf, w)
	}
}

// applicationName reads it from a startup packet: NUL-ended names and values.
func applicationName(startup []byte) string {
	_, rest, found := bytes.Cut(startup, []byte("application_name\x00"))
	if !found {
		return ""
	}
	name, _, _ := bytes.Cut(rest, []byte{0})
	return string(name)
}

// TestProxy_DoesWhatItIsToldTo: the faults of the other tests are real ones.
func TestProxy_DoesWhatItIsToldTo(t *testing.T) {
	t.Parallel()
	p, url := through(t, pgtest.URL(t))
	ask := func(conn *pgx.Conn, within time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		return conn.QueryRow(ctx, "select 1").Scan(new(int))
	}
	open := func(name string) *pgx.Conn {
		config, err := pgx.ParseConfig(url)
		if err != nil {
			t.Fatal(err)
		}
		config.RuntimeParams["application_name"] = name
		conn, err := pgx.ConnectConfig(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			_ = conn.Close(ctx) // through a broken line
		})
		return conn
	}
	one, other := open("one"), open("other")
	p.set(fault{only: "one", silent: true})
	if err := ask(one, 200*time.Millisecond); err == nil {
		t.Error("an answer came through a silent line")
	}
	if err := ask(other, 10*time.Second); err != nil {
		t.Errorf("the fault of one hit the other: %v", err)
	}
	p.set(fault{delay: 50 * time.Millisecond})
	if began := time.Now(); ask(other, 10*time.Second) != nil || time.Since(began) < 100*time.Millisecond {
		t.Error("nothing was delayed")
	}
	p.set(fault{only: "other", cut: afterBytes(func() int { return 1 })})
	if err := ask(other, 10*time.Second); err == nil || p.answersCut() != 1 {
		t.Errorf("the answer was not cut: %v", err)
	}
	p.set(fault{})
	deaf := open("deaf")
	p.deafen()
	if err := ask(deaf, 200*time.Millisecond); err == nil {
		t.Error("an answer came through a deaf line")
	}
	last := open("last")
	if err := ask(last, 10*time.Second); err != nil {
		t.Errorf("a line that was opened later is deaf too: %v", err)
	}
	p.reset("last")
	if err := ask(last, 10*time.Second); err == nil {
		t.Error("a line that was reset works")
	}
}
