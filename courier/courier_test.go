package courier

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"bellhop/scheduler"
	"bellhop/scheduler/notice"
)

// desk is an outbox with messages to one receiver. It gives as many as there is room for, and holds Mark back.
type desk struct {
	mu      sync.Mutex
	left    int64
	taken   []int // messages of each Take
	marking chan struct{}
	written chan struct{}
	address func()
}

func (d *desk) Take(
	_ context.Context, _ scheduler.InstanceID, _ []int64, room notice.Room,
) (list []notice.Notice, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	most := room.Each
	for i, name := range room.Receivers {
		if name == "shop" {
			most = room.Rooms[i]
		}
	}
	for range min(int64(most), d.left) {
		list = append(list, notice.Notice{ID: d.left, Channel: notice.Webhook, Receiver: "shop"})
		d.left--
	}
	d.taken = append(d.taken, len(list))
	return list, nil
}

func (d *desk) Mark(context.Context, scheduler.InstanceID, []notice.Outcome) error {
	d.marking <- struct{}{}
	<-d.written
	return nil
}

func (d *desk) Address(context.Context) (int, error) { d.address(); return 0, nil }

func (d *desk) GiveUp(context.Context, scheduler.InstanceID, []int64) ([]notice.Lost, error) {
	return nil, nil
}

func (d *desk) Next(context.Context, scheduler.InstanceID, []int64, []string) (time.Duration, error) {
	return -1, nil
}

// sender waits for the word to send.
type sender chan struct{}

func (s sender) Send(context.Context, string, notice.Message) error { <-s; return nil }

// A message has its slot until its outcome is written. If slots were free at the answer, a slow database would let
// more messages be sent and not marked than notice.Each, and a killed instance's successor would send them all again.
func TestCourier_ASlotIsFreeOnceTheOutcomeIsWritten(t *testing.T) {
	answered := make(sender)
	d := &desk{left: 20, marking: make(chan struct{}), written: make(chan struct{}), address: func() {}}
	c := &Courier{
		Outbox:  d,
		Ends:    d,
		Senders: map[notice.Channel]Sender{notice.Webhook: answered},
		Log:     slog.New(slog.DiscardHandler),
	}
	again := make(chan struct{}, 20)
	turn := func() {
		t.Helper()
		if _, _, err := c.Turn(t.Context(), 1, func() { again <- struct{}{} }); err != nil {
			t.Fatal(err)
		}
	}
	turn()
	d.address = func() { // after the turn has marked known outcomes, all four are answered
		for range notice.Each {
			answered <- struct{}{}
		}
		<-d.marking
	}
	turn()
	d.address = func() {}
	close(d.written)
	go func() {
		for range d.marking { // the second write, of the outcomes that came during the first
		}
	}()
	for range notice.Each {
		<-again
	}
	turn()
	close(answered)
	if len(d.taken) != 3 || d.taken[0] != notice.Each || d.taken[1] != 0 || d.taken[2] != notice.Each {
		t.Errorf("the turns took %v messages; want %d, none while outcomes are not written, and %d", d.taken, notice.Each, notice.Each)
	}
}
