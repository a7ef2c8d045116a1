package web

import (
	"bytes"
	"context"
	"net/http/httptest"
	"testing"
)

// What a client reads of a stream, byte by byte: each line of data has its field, the end is told where there is one.
func TestStream_OnTheWire(t *testing.T) {
	t.Parallel()
	site, closes := context.WithCancel(t.Context())
	ctx := context.WithValue(t.Context(), closingKey{}, site)
	serve := func(s Stream, events chan Event) string {
		w := httptest.NewRecorder()
		s.Serve(ctx, w, events)
		if as := w.Header().Get("Content-Type"); as != "text/event-stream" || w.Header().Get("X-Accel-Buffering") != "no" {
			t.Errorf("it is %s, its header %v", as, w.Header())
		}
		return w.Body.String()
	}
	events := make(chan Event, 3)
	events <- Event{"main", []byte("a\r\n\nb\n")}
	events <- Event{"same", nil}
	events <- Event{"jobs", []byte(`{"more":false}`)}
	close(events)
	loud := func(e Event) Event {
		e.Data = bytes.ToUpper(e.Data)
		return e
	}
	want := "retry: 2000\n\nevent: main\ndata: A\ndata: \ndata: B\n\nevent: same\ndata:\n\n" +
		"event: jobs\ndata: {\"MORE\":FALSE}\n\nevent: reload\ndata: {}\n\n"
	end := Event{"reload", []byte("{}")}.String()
	if got := serve(Stream{Begin: "retry: 2000\n\n", End: end, Made: loud}, events); got != want {
		t.Errorf("%q, not %q", got, want)
	}
	closes()
	if got := serve(Stream{Begin: "begin", End: end}, nil); got != "begin"+end {
		t.Errorf("a site that closes: %q", got)
	}
}
