package web

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"time"
)

// A stream ends after streamMost, and its client asks again: a client that has lost its rights since then is told
// nothing more. streamBeat keeps proxies awake; a client that takes longer than streamWrites for an event is let go.
const (
	streamMost   = 10 * time.Minute
	streamBeat   = 15 * time.Second
	streamWrites = 5 * time.Second
)

// Event is a server-sent event.
type Event struct {
	Name string
	Data []byte
}

// String is the event as it is sent: each line of its data has a field.
func (e Event) String() string {
	var b strings.Builder
	b.WriteString("event: " + e.Name + "\n")
	for line := range bytes.Lines(e.Data) {
		b.WriteString("data: ")
		b.Write(bytes.TrimRight(line, "\r\n"))
		b.WriteByte('\n')
	}
	if len(e.Data) == 0 {
		b.WriteString("data:\n")
	}
	b.WriteByte('\n')
	return b.String()
}

// Stream is an answer of server-sent events.
type Stream struct {
	Begin, Beat, End string            // what is sent first, between events, and last
	Made             func(Event) Event // the event as this client is to have it; nil: as it is
}

// Serve sends events until their channel is closed, the client or the site goes, or it has lasted for long enough.
func (s Stream) Serve(ctx context.Context, w http.ResponseWriter, events <-chan Event) {
	ctx, cancel := Until(ctx, streamMost)
	defer cancel()
	Unhurried(w)
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(text string) bool { return Send(w, streamWrites, []byte(text)) == nil }
	beat := time.NewTicker(streamBeat)
	defer beat.Stop()
	for goes := send(s.Begin); goes; {
		select {
		case <-ctx.Done():
			goes = false
		case <-beat.C:
			goes = send(s.Beat)
		case e, open := <-events:
			if open && s.Made != nil {
				e = s.Made(e)
			}
			goes = open && send(e.String())
		}
	}
	send(s.End) // a client that has gone, or was let go, takes nothing
}

// Send sends a piece of an answer that goes on, and lets a client go that takes longer than patience for it.
func Send(w http.ResponseWriter, patience time.Duration, piece []byte) error {
	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(time.Now().Add(patience)) // a connection always takes one
	if _, err := w.Write(piece); err != nil {
		return err
	}
	return control.Flush()
}

// Until ends with the request, the site, or a time.
func Until(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, d)
	closing, is := ctx.Value(closingKey{}).(context.Context)
	if !is {
		return ctx, cancel
	}
	stop := context.AfterFunc(closing, cancel)
	return ctx, func() { stop(); cancel() }
}
