// Package lookout sees what starts workflows and happens outside of the queue: written files, records of Kafka,
// notifications. The configuration of each instance says what may be watched, since definitions are kept in the
// database: one that names anything else is refused here, whatever role wrote it.
package lookout

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"bellhop/scheduler/workflow"
)

// Lookout watches.
type Lookout struct {
	Roots    []string           // the folders below which files are looked for
	Clusters map[string]Cluster // of Kafka
	Channels Channels           // of NOTIFY; nil: none
	Failed   func(kind string)  // a watch has failed; nil: not counted

	every time.Duration // how often a topic is asked what is new about it; 0: partitionsEvery
	stand time.Duration // and how often it is said again where its group stands; 0: standEvery
	mu    sync.Mutex
	lags  map[string]int64 // by workflow
}

// Channels hears channels of NOTIFY.
type Channels interface {
	// Listen gives what is said on a channel, until ctx ends or the connection breaks; well is called when it listens.
	Listen(ctx context.Context, channel string, well func(), said func(ctx context.Context, payload string) error) error
}

// Happened keeps what a watch has seen.
type Happened func(context.Context, workflow.Sight) error

// Watch watches until ctx ends or it cannot go on. What happened has returned no error
// for is kept; well is called when it sees, and lag, of a topic, now and then: how many
// messages are not read yet.
func (l *Lookout) Watch(ctx context.Context, w workflow.Watch, well func(), lag func(context.Context, int64),
	happened func(context.Context, workflow.Sight) error) (err error) {
	switch kind := w.Sensor.Kind(); kind {
	case "file":
		err = l.files(ctx, w, well, happened)
	case "kafka":
		err = l.topic(ctx, w, well, lag, happened)
	case "notify":
		err = l.channel(ctx, w, well, happened)
	default:
		err = fmt.Errorf("there is nothing to watch for a sensor of the kind %q", kind)
	}
	if err != nil && ctx.Err() == nil && l.Failed != nil {
		l.Failed(w.Sensor.Kind())
	}
	return err
}

// Lags are how many messages the topics that are watched are behind, by workflow.
func (l *Lookout) Lags() map[string]int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.lags)
}

func (l *Lookout) behind(workflow string, n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lags == nil {
		l.lags = map[string]int64{}
	}
	l.lags[workflow] = n
}

// forget: it is unknown now how far it is behind.
func (l *Lookout) forget(workflow string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.lags, workflow)
}

// Sees is what it can watch.
func (l *Lookout) Sees() workflow.Sees {
	s := workflow.Sees{Notify: l.Channels != nil, Files: l.Roots}
	for name := range l.Clusters {
		s.Kafka = append(s.Kafka, name)
	}
	return s
}

// sleep waits; false: ctx has ended.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
