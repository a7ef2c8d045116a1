// Package courier sends notices of runs: by mail, to a webhook, or to a command. Package scheduler/notice decides
// the recipients, and the database keeps the messages; courier sends each at least once, under an id that stays the
// same.
package courier

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"bellhop/scheduler"
	"bellhop/scheduler/notice"
)

// Outbox is where what is to be sent is kept.
type Outbox interface {
	// Take takes messages that no other instance is sending, for this instance, as there is room for them; none of
	// those under way.
	Take(ctx context.Context, me scheduler.InstanceID, under []int64, room notice.Room) ([]notice.Notice, error)
	// Mark writes what became of them.
	Mark(ctx context.Context, me scheduler.InstanceID, list []notice.Outcome) error
}

// Ends are runs that have ended, and messages that could not be sent.
type Ends interface {
	// Address makes messages of ends of runs, and gives how many ends those were.
	Address(ctx context.Context) (int, error)
	// GiveUp ends messages that were tried for long enough, but none of those under way.
	GiveUp(ctx context.Context, me scheduler.InstanceID, under []int64) ([]notice.Lost, error)
	// Next is in how long there is something to send to receivers that are not full; negative: nothing is.
	Next(ctx context.Context, me scheduler.InstanceID, under []int64, full []string) (time.Duration, error)
}

// Sender sends by one channel. An error that wraps ErrNever will be met again, and one that is a *Refusal says more.
type Sender interface {
	Send(ctx context.Context, target string, m notice.Message) error
}

// ErrNever marks an error that trying again would meet again.
var ErrNever = errors.New("it is not tried again")

// Refusal is what a receiver has said about when to come again.
type Refusal struct {
	Says  string
	After time.Duration // it wants nothing for so long; 0: it did not say
	Gone  bool          // it wants nothing any more
}

func (r *Refusal) Error() string { return r.Says }

// sending is how long one message may take, by channel. A server of mail may look for a sender's name for half a
// minute.
var sending = map[notice.Channel]time.Duration{
	notice.Mail: 45 * time.Second, notice.Webhook: 30 * time.Second, notice.Command: 45 * time.Second,
}

// Courier sends what is due. Each message that is sent is marked at once, and gives its slot to the next: what hangs
// keeps up its own receiver and no other.
type Courier struct {
	Outbox  Outbox
	Ends    Ends
	Senders map[notice.Channel]Sender
	Words   notice.Words
	Log     *slog.Logger

	turning sync.Mutex // one turn at a time: what one has taken the next one knows to be under way
	marking sync.Mutex // one writes outcomes at a time, and all that there are
	mu      sync.Mutex // of what follows
	traffic notice.Traffic
	under   map[int64]struct{} // messages that are under way, or whose outcome is not written yet
	owed    map[int64]owed     // what became of messages, and is not written yet
	ended   int                // messages that have ended since the last turn
}

// owed is an outcome, the instance that took the message, and the message's receiver.
type owed struct {
	notice.Outcome
	me       scheduler.InstanceID
	receiver string
}

// Turn addresses ends, marks known outcomes, and begins to send what is due and there is room for. It does not wait
// for that: whenever a message has ended again is called, and another turn is wanted. It gives how many messages it
// has dealt with, and the delay until the next look (negative: none is needed).
func (c *Courier) Turn(
	ctx context.Context, me scheduler.InstanceID, again func(),
) (did int, next time.Duration, err error) {
	c.turning.Lock()
	defer c.turning.Unlock()
	if err := c.mark(ctx); err != nil {
		return 0, -1, err
	}
	did = c.endedSince()
	n, err := c.Ends.Address(ctx)
	did += n
	if err != nil {
		return did, -1, err
	}
	under, room := c.room()
	lost, err := c.Ends.GiveUp(ctx, me, under)
	for _, l := range lost {
		to := named(l.Channel, l.Target)
		c.Log.Error("a message is given up", "run", l.Run, "channel", l.Channel, "to", to, "error", l.Error)
	}
	did += len(lost)
	if err != nil {
		return did, -1, err
	}
	if room.Most > 0 {
		list, err := c.Outbox.Take(ctx, me, under, room)
		if err != nil {
			return did, -1, err
		}
		did += len(list)
		c.begin(ctx, me, list, again)
	}
	under, room = c.room()
	if room.Most <= 0 { // again is called
		return did, -1, nil
	}
	if next, err = c.Ends.Next(ctx, me, under, room.Full); room.Next >= 0 && (next < 0 || room.Next < next) {
		next = room.Next
	}
	return did, next, err
}

func (c *Courier) endedSince() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.ended
	c.ended = 0
	return n
}

// room is what is under way, and what there is room for.
func (c *Courier) room() ([]int64, notice.Room) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.AppendSeq([]int64{}, maps.Keys(c.under)), c.traffic.Room(time.Now())
}

// begin sends messages, each by itself.
func (c *Courier) begin(ctx context.Context, me scheduler.InstanceID, list []notice.Notice, again func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.under == nil {
		c.under, c.owed = map[int64]struct{}{}, map[int64]owed{}
	}
	for _, n := range list {
		c.under[n.ID] = struct{}{}
		c.traffic.Start(n.Receiver)
		go func() {
			o := c.one(ctx, n)
			c.mu.Lock()
			c.owed[n.ID] = owed{o, me, n.Receiver}
			c.ended++
			c.mu.Unlock()
			if err := c.mark(ctx); err != nil {
				c.Log.Warn("what became of a message cannot be written yet; it is tried again", "run", n.Run, "error", err)
			}
			again()
		}()
	}
}

// mark writes known outcomes. An outcome that cannot be written now is kept, so that this instance does not send the
// message again. A message has its slot until its outcome is written: if this instance dies, no receiver gets more
// than notice.Each messages twice.
func (c *Courier) mark(ctx context.Context) error {
	c.marking.Lock()
	defer c.marking.Unlock()
	c.mu.Lock()
	lists := map[scheduler.InstanceID][]notice.Outcome{}
	for _, o := range c.owed {
		lists[o.me] = append(lists[o.me], o.Outcome)
	}
	c.mu.Unlock()
	for me, list := range lists {
		if err := c.Outbox.Mark(context.WithoutCancel(ctx), me, list); err != nil {
			return err
		}
		c.mu.Lock()
		for _, o := range list {
			c.traffic.End(c.owed[o.ID].receiver, o, time.Now())
			delete(c.owed, o.ID)
			delete(c.under, o.ID)
		}
		c.mu.Unlock()
	}
	return nil
}

func (c *Courier) one(ctx context.Context, n notice.Notice) notice.Outcome {
	o := notice.Outcome{ID: n.ID}
	err := c.try(ctx, n)
	if err == nil {
		return o
	}
	o.Error, o.Over = err.Error(), errors.Is(err, ErrNever)
	o.Delay = notice.Delay(n.Tries, rand.Float64())
	var said *Refusal
	if errors.As(err, &said) {
		o.Gone, o.Over = said.Gone, o.Over || said.Gone
		if o.Pause = min(said.After, notice.MostPause); o.Pause > 0 {
			o.Delay = max(o.Pause, notice.First)
		}
	}
	if ctx.Err() != nil { // we are told to stop: another instance may try at once
		o.Delay = 0
	}
	say := c.Log.Warn
	if o.Over {
		say = c.Log.Error
	}
	say("a message cannot be sent", "run", n.Run, "channel", n.Channel, "to", named(n.Channel, n.Target), "tries", n.Tries,
		"again", !o.Over, "error", err)
	return o
}

func (c *Courier) try(ctx context.Context, n notice.Notice) (err error) {
	defer func() {
		if p := recover(); p != nil { // of a library that was handed what it did not expect
			err = fmt.Errorf("%w: %v", ErrNever, p)
		}
	}()
	s := c.Senders[n.Channel]
	if s == nil {
		return fmt.Errorf("this instance cannot send by %s", n.Channel)
	}
	ctx, cancel := context.WithTimeout(ctx, sending[n.Channel])
	defer cancel()
	return s.Send(ctx, n.Target, notice.Build(n, c.Words))
}
