package triggers

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
)

// Channels hears channels that are not bellhop's own, for sensors: all of them on one connection, which exists
// while a sensor listens.
type Channels struct {
	URL string

	mu    sync.Mutex
	ears  map[*ear]bool
	again context.CancelFunc // makes the reader look at the listeners; nil: there is no reader
}

// ear is one listener to a channel.
type ear struct {
	channel string
	well    chan struct{} // closed when the server was told
	once    sync.Once
	said    chan string
	broken  chan error
	gone    <-chan struct{}
}

const (
	channelsConnect = 5 * time.Second
	channelsAhead   = 1000             // how many notifications a slow listener may be behind
	channelsAlive   = 10 * time.Second // the connection is tried after so long a silence
)

// Listen gives what is said on a channel, until ctx ends or the connection breaks: what is said until the next call is
// lost. well is called when it listens.
func (c *Channels) Listen(ctx context.Context, channel string, well func(),
	said func(context.Context, string) error) error {
	e := &ear{
		channel: channel,
		well:    make(chan struct{}),
		said:    make(chan string, channelsAhead),
		broken:  make(chan error, 1),
		gone:    ctx.Done(),
	}
	c.change(func() { c.ears[e] = true })
	defer c.change(func() { delete(c.ears, e) })
	ready := e.well
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ready:
			well()
			ready = nil
		case err := <-e.broken:
			return err
		case payload := <-e.said:
			if err := said(ctx, payload); err != nil {
				return err
			}
		}
	}
}

// change changes the listeners, and has the reader know.
func (c *Channels) change(do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ears == nil {
		c.ears = map[*ear]bool{}
	}
	do()
	if c.again != nil {
		c.again()
	} else if len(c.ears) > 0 {
		_, c.again = context.WithCancel(context.Background())
		go c.read()
	}
}

// listeners are the present listeners, and a context that ends when they change; none: the reader is done.
func (c *Channels) listeners() (list []*ear, ctx context.Context, done func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.ears) == 0 {
		c.again = nil
		return nil, nil, nil
	}
	for e := range c.ears {
		list = append(list, e)
	}
	ctx, c.again = context.WithTimeout(context.Background(), channelsAlive)
	return list, ctx, c.again
}

// read hears the connection while there are listeners. If it breaks, all listeners are told, and none is left.
func (c *Channels) read() {
	var conn *pgx.Conn
	var fault error
	heard := map[string]bool{}
	for {
		list, ctx, done := c.listeners()
		if list == nil {
			break
		}
		if fault == nil && conn == nil {
			conn, fault = c.connect()
		}
		if fault == nil {
			fault = c.hear(ctx, conn, heard, list)
		}
		done()
		if fault == nil {
			continue
		}
		c.mu.Lock()
		for e := range c.ears {
			e.broken <- &scheduler.Unreachable{Err: fault} // it has room for one, and leaves
			delete(c.ears, e)
		}
		c.mu.Unlock()
		hangUp(conn)
		conn, fault, heard = nil, nil, map[string]bool{}
	}
	hangUp(conn)
}

func hangUp(conn *pgx.Conn) {
	if conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), channelsConnect)
	defer cancel()
	_ = conn.Close(ctx) // there are no listeners
}

func (c *Channels) connect() (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), channelsConnect)
	defer cancel()
	return listening(c.URL, "channels").Connect(ctx)
}

// hear listens to what these want and gives them what is said, until ctx ends.
func (c *Channels) hear(ctx context.Context, conn *pgx.Conn, heard map[string]bool, list []*ear) error {
	wanted := map[string][]*ear{}
	for _, e := range list {
		wanted[e.channel] = append(wanted[e.channel], e)
	}
	say := func(verb, channel string) error {
		short, cancel := context.WithTimeout(context.Background(), channelsConnect)
		defer cancel()
		_, err := conn.Exec(short, verb+" "+pgx.Identifier{channel}.Sanitize())
		return err
	}
	for channel := range wanted {
		if !heard[channel] {
			if err := say("listen", channel); err != nil {
				return err
			}
			heard[channel] = true
		}
	}
	for channel := range heard {
		if wanted[channel] == nil {
			if err := say("unlisten", channel); err != nil {
				return err
			}
			delete(heard, channel)
		}
	}
	for _, e := range list {
		e.once.Do(func() { close(e.well) })
	}
	for {
		n, err := conn.WaitForNotification(ctx)
		switch {
		case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) && !conn.IsClosed():
			short, cancel := context.WithTimeout(context.Background(), channelsConnect)
			defer cancel()
			return conn.Ping(short) // a line that is dead does not say so
		case err != nil && ctx.Err() != nil && !conn.IsClosed():
			return nil // a listener came or left
		case err != nil:
			return err
		}
		for _, e := range wanted[n.Channel] {
			select {
			case e.said <- n.Payload:
			case <-e.gone:
			}
		}
	}
}
