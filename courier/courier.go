// Package courier sends what is to be told of runs: by mail, to a webhook, or to a
// command. Who is told what is decided in scheduler/notice, and kept in the
// database; what is here is sent at least once, under an id that stays the same.
package courier

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"bellhop/scheduler"
	"bellhop/scheduler/notice"
)

// Outbox is where what is to be sent is kept.
type Outbox interface {
	// Take takes messages that nobody else is sending, for this instance.
	Take(ctx context.Context, me scheduler.InstanceID, most int) ([]notice.Notice, error)
	// Mark writes what became of them.
	Mark(ctx context.Context, me scheduler.InstanceID, list []notice.Outcome) error
}

// Ends are runs that have ended, and messages that nobody could send.
type Ends interface {
	// Address makes messages of ends of runs, and gives how many ends those were.
	Address(ctx context.Context) (int, error)
	// GiveUp ends messages that were tried for long enough.
	GiveUp(ctx context.Context, me scheduler.InstanceID) ([]notice.Lost, error)
	// Next is in how long there is something to send; negative: nothing is.
	Next(ctx context.Context, me scheduler.InstanceID) (time.Duration, error)
}

// Sender sends by one channel. An error that wraps ErrNever will be met again.
type Sender interface {
	Send(ctx context.Context, target string, m notice.Message) error
}

// ErrNever marks an error that trying again would meet again.
var ErrNever = errors.New("it is not tried again")

const (
	atOnce  = 16               // messages under way
	sending = 45 * time.Second // what one may take
)

// Courier sends what is due.
type Courier struct {
	Outbox  Outbox
	Ends    Ends
	Senders map[notice.Channel]Sender
	Words   notice.Words
	Log     *slog.Logger

	owed map[int64]notice.Outcome // what became of messages, and is not written yet; of Turn alone
}

// Turn addresses, sends and marks what is due: it gives how many messages it has
// dealt with, and in how long somebody has to look again (negative: nobody has to).
func (c *Courier) Turn(ctx context.Context, me scheduler.InstanceID) (did int, next time.Duration, err error) {
	if err := c.mark(ctx, me); err != nil {
		return 0, -1, err
	}
	did, err = c.Ends.Address(ctx)
	if err != nil {
		return 0, -1, err
	}
	lost, err := c.Ends.GiveUp(ctx, me)
	for _, l := range lost {
		c.Log.Error("a message is given up", "run", l.Run, "channel", l.Channel, "to", l.Target, "error", l.Error)
	}
	if err != nil {
		return did, -1, err
	}
	list, err := c.Outbox.Take(ctx, me, atOnce)
	if err != nil {
		return did, -1, err
	}
	c.send(ctx, list)
	if err := c.mark(ctx, me); err != nil {
		return did, -1, err
	}
	next, err = c.Ends.Next(ctx, me)
	return did + len(list) + len(lost), next, err
}

// mark writes what is known; what cannot be written now is not forgotten, so that
// nothing is sent again that this instance knows to have been sent.
func (c *Courier) mark(ctx context.Context, me scheduler.InstanceID) error {
	if len(c.owed) == 0 {
		return nil
	}
	list := make([]notice.Outcome, 0, len(c.owed))
	for _, o := range c.owed {
		list = append(list, o)
	}
	if err := c.Outbox.Mark(context.WithoutCancel(ctx), me, list); err != nil {
		return err
	}
	c.owed = nil
	return nil
}

func (c *Courier) send(ctx context.Context, list []notice.Notice) {
	outcomes := make([]notice.Outcome, len(list))
	var wait sync.WaitGroup
	for i, n := range list {
		wait.Go(func() { outcomes[i] = c.one(ctx, n) })
	}
	wait.Wait()
	if c.owed == nil {
		c.owed = map[int64]notice.Outcome{}
	}
	for _, o := range outcomes {
		c.owed[o.ID] = o
	}
}

func (c *Courier) one(ctx context.Context, n notice.Notice) notice.Outcome {
	o := notice.Outcome{ID: n.ID}
	err := c.try(ctx, n)
	if err == nil {
		return o
	}
	o.Error, o.Over = err.Error(), errors.Is(err, ErrNever)
	o.Delay = notice.Delay(n.Tries, rand.Float64())
	if ctx.Err() != nil { // we are told to stop: another instance may try at once
		o.Delay = 0
	}
	say := c.Log.Warn
	if o.Over {
		say = c.Log.Error
	}
	say("a message cannot be sent", "run", n.Run, "channel", n.Channel, "to", n.Target, "tries", n.Tries,
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
	ctx, cancel := context.WithTimeout(ctx, sending)
	defer cancel()
	return s.Send(ctx, n.Target, notice.Build(n, c.Words))
}
