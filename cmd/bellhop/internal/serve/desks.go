package serve

import (
	"cmp"
	"context"
	"log/slog"

	"bellhop/actors"
	"bellhop/agents"
	"bellhop/config"
	"bellhop/instance"
	"bellhop/sql/store"
)

// desks are what an instance asks of its database, and tells it. Each connects at its first use.
type desks struct {
	claimer     *store.Claimer
	recorder    *store.Recorder
	registry    *store.Registry
	maintenance *store.Maintenance
	queries     *store.Cursors
	locks       *store.AskedLocks
	steps       *store.Steps
	gate        *store.Gate
	attacher    *store.Attacher
	sensors     *store.Sensors
	watches     *store.Watches
	outgoing    *store.Outgoing
	retention   *store.Retention
	metrics     *store.Metrics
	tags        *store.Engines
	locator     *store.Locator // nil: no query finds the hosts of keys

	direct string // the URL of the server itself, where the other one is a pooler's
	askURL string // where agents that say DB: are answered
}

// openDesks reads the URLs of a configuration, and its templates of locks. An error is the configuration's.
func openDesks(c config.Config, url string, log *slog.Logger) (d *desks, err error) {
	d = &desks{direct: cmp.Or(c.Database.ListenURL, url), askURL: cmp.Or(c.Database.DBURL, c.Database.MSQURL)}
	for _, open := range []func() error{
		func() error { d.claimer, err = store.NewClaimer(url); return err },
		func() error { d.recorder, err = store.NewRecorder(url); return err },
		func() error { d.registry, err = store.NewRegistry(url); return err },
		func() error { d.maintenance, err = store.NewMaintenance(url); return err },
		func() error { d.queries, err = store.NewCursors(cmp.Or(c.Database.MSQURL, url)); return err },
		func() error { d.locks, err = store.NewAskedLocks(url); return err },
		func() error { d.steps, err = store.NewSteps(url); return err },
		func() error { d.gate, err = store.NewGate(d.direct); return err },
		func() error {
			d.attacher, err = store.NewAttacher(url, cmp.Or(c.Database.AttachURL, d.direct), c.Database.AttachURL != "")
			return err
		},
		func() error { d.sensors, err = store.NewSensors(url); return err },
		func() error { d.watches, err = store.NewWatches(url); return err },
		func() error { d.outgoing, err = store.NewOutgoing(url, tells(c), c.Notifications.GiveUp); return err },
		func() error { d.retention, err = store.NewRetention(url, keepAll(c.Retention)); return err },
		func() error { d.metrics, err = store.NewMetrics(url); return err },
		func() error { d.tags, err = store.NewEngines(url); return err },
		func() error { _, err = store.NewAsker(d.askURL); return err },
		func() error { d.claimer.Templates, err = lockTemplates(c); return err },
	} {
		if err := open(); err != nil {
			return nil, err
		}
	}
	if c.Locate != "" {
		if d.locator, err = store.NewLocator(cmp.Or(c.Database.MSQURL, url), c.Locate); err != nil {
			return nil, err
		}
		d.maintenance.LocateThrough(d.locator)
	}
	d.claimer.Log = log
	d.claimer.Policy, d.maintenance.Policy, d.locks.Policy = c.Policy, c.Policy, c.Policy
	d.maintenance.ExplainThrough(d.claimer)
	d.maintenance.Counts = &store.Counts{}
	return d, nil
}

// closers end the connections of all of them.
func (d *desks) closers() []interface{ Close() } {
	list := []interface{ Close() }{
		d.claimer, d.recorder, d.registry, d.maintenance, d.locks, d.steps, d.gate, d.attacher, d.sensors, d.watches,
		d.outgoing, d.retention, d.metrics, d.tags,
		store.NewShared(d.recorder, d.registry, d.maintenance, d.locks, d.steps, d.gate, d.attacher, d.sensors, d.watches,
			d.outgoing, d.retention, d.metrics, d.tags),
	}
	if d.locator != nil {
		list = append(list, d.locator)
	}
	return list
}

// asker opens the session of an agent that may say DB:.
func (d *desks) asker() agents.Database {
	asker, _ := store.NewAsker(d.askURL) // openDesks has parsed it
	return asker
}

// ports are those that a desk answers by itself.
func (d *desks) ports(t *telemetry) actors.Config {
	return actors.Config{
		Queue:       watchedQueue{d.claimer, t},
		Holdings:    d.claimer,
		Records:     instance.Counted{Records: watchedRecords{d.recorder, t}, Counts: d.maintenance.Counts},
		Observer:    t,
		Reports:     d.registry,
		Maintenance: d.maintenance,
		HostStates:  d.registry,
		Locks:       d.locks,
		ItemLocks:   d.locks,
		Steps:       d.steps,
		Gate:        d.gate,
		Queries:     instance.Queries{Cursors: d.queries},
		Attachments: d.attacher,
		Sensors:     d.sensors,
		Tags:        d.tags,
		Leftovers:   d.tags,
		Forecasts:   store.NewForecaster(d.metrics, d.maintenance.Counts, t.metrics.Missed, d.promised(t)),
		Watches:     d.watches,
		Retention:   d.retention,
	}
}

// promised logs and counts what became of promises.
func (d *desks) promised(t *telemetry) func(store.Promised) {
	return func(p store.Promised) {
		t.metrics.Promised(p.What)
		level := slog.LevelInfo
		if p.What == "in_danger" || p.What == "missed" {
			level = slog.LevelWarn
		}
		d.claimer.Log.Log(context.Background(), level, "promise: "+p.What, "job", p.Job, "by", p.By, "why", p.Why)
	}
}
