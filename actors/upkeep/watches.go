package upkeep

import (
	"context"
	"errors"
	"reflect"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/actors/message"
	"bellhop/actors/tree"
	"bellhop/scheduler"
	"bellhop/scheduler/workflow"
)

// watches looks out for what starts workflows and is told by no clock: it has a
// watch for each such sensor that is this instance's. Which these are comes with what
// operators want (scheduler.ControlState), as one number: where it is another one than
// before, the list is read. What a watch has seen is kept only while the workflow is
// this instance's, so that one that was taken for dead tells nothing more.
type watches struct {
	paced
	ports WatchesPorts
	// owned by Receive
	now     int64 // what the list was read for
	wanted  int64
	running map[string]*watching // by workflow
}

// notMine: a watch has been told that its workflow is another instance's.
type notMine struct{}

// watching is a watch that is under way.
type watching struct {
	watch workflow.Watch
	me    scheduler.InstanceID
	end   context.CancelFunc
}

// How soon a list that could not be read is read again, and a watch that cannot see tries again.
var (
	listPacing  = scheduler.Pacing{Soon: 100 * time.Millisecond, Late: 5 * time.Second}
	watchPacing = scheduler.Pacing{Soon: time.Second, Late: time.Minute}
)

func NewWatches(h WatchesPorts) *watches {
	w := &watches{ports: h, running: map[string]*watching{}}
	w.paced = paced{Peers: h.Peers, log: h.Log, pacing: listPacing, fails: "cannot read which sensors to watch",
		due: w.due, begin: w.begin}
	return w
}

func (w *watches) Receive(c actor.Context) {
	switch c.Message().(type) {
	case *message.Finish:
		w.only(nil, 0)
	case *notMine:
		w.now = 0 // the list says otherwise: the next round has it read anew, whatever its number is
	}
	w.paced.Receive(c)
}

// due is at once, where the list is not the one that is wanted.
func (w *watches) due(m *scheduler.ControlState) (time.Duration, bool) {
	if w.wanted = m.Watches; w.wanted == 0 {
		w.only(nil, 0)
		w.now = 0
	}
	return 0, w.wanted != w.now
}

// begin reads the list.
func (w *watches) begin(func()) func(context.Context) *looked {
	if w.ports.Kept == nil || w.wanted == w.now {
		return nil
	}
	h, of, me := w.ports, w.wanted, w.ports.ID()
	return func(ctx context.Context) *looked {
		list, err := h.Kept.Mine(ctx, me)
		if err != nil {
			return &looked{next: -1, err: err}
		}
		return &looked{did: 1, next: -1, then: func() {
			if w.wanted != 0 && !w.stopping {
				w.now = of
				w.only(list, me)
			}
		}}
	}
}

// only has these watches under way, and no others. One that is the same goes on.
func (w *watches) only(list []workflow.Watch, me scheduler.InstanceID) {
	keep := map[string]bool{}
	for _, x := range list {
		is := w.running[x.Workflow]
		keep[x.Workflow] = is != nil && is.me == me && reflect.DeepEqual(is.watch.Sensor, x.Sensor)
	}
	for name, is := range w.running {
		if !keep[name] {
			is.end()
			delete(w.running, name)
		}
	}
	for _, x := range list {
		if keep[x.Workflow] {
			continue
		}
		ctx, end := context.WithCancel(w.ctx)
		w.running[x.Workflow] = &watching{watch: x, me: me, end: end}
		go watch{WatchesPorts: w.ports, Watch: x, me: me, told: x.Told, lag: -1}.run(ctx)
	}
}

// watch is one of them, on a goroutine of its own.
type watch struct {
	WatchesPorts
	workflow.Watch
	me   scheduler.InstanceID
	told string // what the database says of it
	lag  int64  // and how far it is behind; -1: that is not known
}

// run watches for ever. What fails is told once, and tried again ever more seldom.
func (w watch) run(ctx context.Context) {
	pacing, said := watchPacing, tree.Complaint("")
	for {
		err := w.Lookout.Watch(ctx, w.Watch, func() {
			if pacing, said = watchPacing, ""; w.told != "" && w.Kept.Failing(ctx, w.me, w.Workflow, "") == nil {
				w.told = ""
			}
		}, func(ctx context.Context, lag int64) {
			if lag != w.lag && w.Kept.Lag(ctx, w.me, w.Workflow, lag) == nil {
				w.lag = lag
			}
		}, func(ctx context.Context, seen workflow.Sight) error {
			mine, err := w.Kept.Happened(ctx, w.me, w.Workflow, seen)
			switch {
			case err == nil && !mine:
				err = workflow.ErrNotMine
			case err == nil && seen.Place != nil: // the next try goes on there
				w.Place = seen.Place
			}
			if err == nil && seen.Remark != nil && *seen.Remark != "" {
				w.Log.Warn("a sensor passes something over, or begins again", "workflow", w.Workflow, "remark", *seen.Remark)
			}
			return err
		})
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, workflow.ErrNotMine):
			w.Tell(message.RoleWatches, &notMine{})
		case err != nil:
			if said.News(err) {
				w.Log.Warn("a sensor sees nothing; it is tried again", "workflow", w.Workflow, "error", err)
			}
			if why := err.Error(); why != w.told && w.Kept.Failing(ctx, w.me, w.Workflow, why) == nil {
				w.told, w.lag = why, -1
			}
		}
		var in time.Duration
		pacing, in = pacing.After(scheduler.Look{Failed: true})
		rest := time.NewTimer(in)
		select {
		case <-ctx.Done():
			rest.Stop()
			return
		case <-rest.C:
		}
	}
}
