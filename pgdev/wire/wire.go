// Package wire stands between a client and PostgreSQL, or any other server, and does to their connections what
// networks do. The tests and `bellhop torture` use it.
package wire

import (
	"bytes"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// Proxy is a line to a server. It is healthy until Set.
type Proxy struct {
	listener net.Listener
	dial     func() (net.Conn, error)
	served   sync.WaitGroup

	mu    sync.Mutex
	fault Fault
	wires map[net.Conn]string // both ends of what is open, with the client's application_name
	deaf  map[net.Conn]bool   // of these, the ones that swallow everything
	cuts  int                 // answers that were cut
}

// Fault is what is wrong with a line, for one kind of client or all.
type Fault struct {
	Only   string        // application_name of the clients that have it; empty: all
	Silent bool          // swallow everything, close nothing
	Untold bool          // the other side does not learn that one has ended
	Delay  time.Duration // of every piece of data, each way
	Chop   int           // hand on so many bytes at a time; 0: as they come
	// Cut reports whether to cut the line (RST) in place of this answer: the server has carried out the statement, and
	// the client does not learn of it. nil: never.
	Cut func(answer []byte) bool
}

// AfterBytes cuts when so many bytes of answers have passed, again and again.
func AfterBytes(next func() int) func([]byte) bool {
	left := next()
	return func(answer []byte) bool {
		if left -= len(answer); left >= 0 {
			return false
		}
		left = next()
		return true
	}
}

// Before starts a proxy before any server. Close ends it.
func Before(network, address string) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the clients of %s: %w", address, err)
	}
	p := &Proxy{listener: l, wires: map[net.Conn]string{}, deaf: map[net.Conn]bool{},
		dial: func() (net.Conn, error) { return net.Dial(network, address) }}
	p.served.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			p.served.Go(func() { p.serve(client) })
		}
	})
	return p, nil
}

// Through starts a proxy before a database, and gives the database's URL through it.
func Through(database string) (*Proxy, string, error) {
	config, err := pgx.ParseConfig(database)
	if err != nil {
		return nil, "", err
	}
	network, address := "tcp", net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port)))
	if filepath.IsAbs(config.Host) {
		network, address = "unix", filepath.Join(config.Host, fmt.Sprintf(".s.PGSQL.%d", config.Port))
	}
	p, err := Before(network, address)
	if err != nil {
		return nil, "", err
	}
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(config.User, config.Password),
		Host:     p.Address(),
		Path:     "/" + config.Database,
		RawQuery: "sslmode=disable",
	}
	return p, u.String(), nil
}

// Address is where the proxy listens: host and port.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// Close cuts all lines and returns when none is left.
func (p *Proxy) Close() {
	_ = p.listener.Close()
	p.Reset("")
	p.served.Wait()
}

// Set changes what is wrong, for open connections too.
func (p *Proxy) Set(f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = f
}

// Deafen makes the lines that are open now, of one client or of all, swallow everything for ever. New ones are well.
func (p *Proxy) Deafen(only string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for wire, name := range p.wires {
		if only == "" || only == name {
			p.deaf[wire] = true
		}
	}
}

// Reset sends RST on the open connections of one client, or of all.
func (p *Proxy) Reset(only string) {
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

// AnswersCut is how many answers were cut.
func (p *Proxy) AnswersCut() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cuts
}

func (p *Proxy) serve(client net.Conn) {
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
func (p *Proxy) tellEnd(wire net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.fault.Untold {
		abort(wire)
	}
}

// pump carries one direction. The client's first words tell its name.
func (p *Proxy) pump(from, to net.Conn, name chan string, asks bool) {
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

func (p *Proxy) judge(
	from net.Conn, who string, data []byte, asks bool,
) (swallow bool, delay time.Duration, cut bool, chop int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.fault
	if p.deaf[from] || f.Only != "" && f.Only != who {
		return p.deaf[from], 0, false, len(data)
	}
	if !asks && f.Cut != nil && f.Cut(data) {
		p.cuts++
		return false, 0, true, len(data)
	}
	if f.Chop == 0 {
		f.Chop = len(data)
	}
	return f.Silent, f.Delay, false, f.Chop
}

func (p *Proxy) note(name string, wires ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range wires {
		p.wires[w] = name
	}
}

func (p *Proxy) forget(wires ...net.Conn) {
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

// Hearing counts the ends of one client's lines that are open and not deaf.
func (p *Proxy) Hearing(client string) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for wire, name := range p.wires {
		if !p.deaf[wire] && name == client {
			n++
		}
	}
	return n
}
