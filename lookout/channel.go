package lookout

import (
	"context"
	"errors"
	"strings"
	"time"

	"bellhop/scheduler/workflow"
)

// keepAgain is the delay before storing a notification is retried; a NOTIFY is not repeated.
const keepAgain = time.Second

// again reports whether trying the same again may help.
func again(err error) bool {
	var refused interface{ SQLState() string }
	if errors.As(err, &refused) && (strings.HasPrefix(refused.SQLState(), "22") || strings.HasPrefix(refused.SQLState(), "23")) {
		return false
	}
	return !errors.Is(err, workflow.ErrNotMine)
}

// channel watches a channel of NOTIFY.
func (l *Lookout) channel(ctx context.Context, w workflow.Watch, well func(), happened Happened) error {
	if l.Channels == nil {
		return errors.New("this instance hears no channels")
	}
	by := w.Sensor.Event
	if by == "" {
		by = "event"
	}
	return l.Channels.Listen(ctx, w.Sensor.Notify, well, func(ctx context.Context, payload string) error {
		h := workflow.Happening{Given: workflow.Fields([]byte(payload))}
		if name, there := h.Given[by]; there && name != "" {
			h.Event = workflow.Named("notify=" + name)
		}
		for {
			err := happened(ctx, workflow.Sight{Events: []workflow.Happening{h}})
			if err == nil || ctx.Err() != nil || !again(err) {
				return err
			}
			if !sleep(ctx, keepAgain) {
				return ctx.Err()
			}
		}
	})
}
