package serve

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"bellhop/actors"
	"bellhop/actors/port"
	"bellhop/agents"
	"bellhop/cmd/bellhop/internal/fleet"
	"bellhop/config"
	"bellhop/instance"
	"bellhop/machine"
	"bellhop/scheduler"
	"bellhop/scheduler/lock"
	"bellhop/sql/store"
	"bellhop/triggers"
	"bellhop/web/operation"
)

// safetyScan is the slow look that finds what every notification missed.
const safetyScan = 5 * time.Second

// exclusiveAfter is how long work without a pause may keep an exclusive job
// waiting before it has its turn.
const exclusiveAfter = time.Minute

// cursors is how many MSQ jobs an instance runs at once: each holds a
// connection while its rows are read.
const cursors = 32

// Instance is a running scheduler with everything that was opened for it.
type Instance struct {
	*actors.System
	launcher  *agents.Launcher
	opener    *instance.Opener               // of sealed jobs
	machine   string                         // this one
	me        atomic.Pointer[store.Instance] // as others are told of it
	registry  *store.Registry
	telemetry *telemetry

	operations atomic.Pointer[operation.Worker] // nil: not yet
	closers    []interface{ Close() }
}

// Start wires the ports of package actors to what implements them, and
// starts the tree. It and client/worker/wire.go are the places that see both. back is told whenever the
// database has answered a heartbeat. A database that ends with this process needs no heir; then it is nil.
func Start(
	c config.Config, url string, stop func(scheduler.Stop), back func(), heir heirs, stderr io.Writer, log *slog.Logger,
) (*Instance, error) {
	here := machine.This()
	c = withRows(c)
	d, err := openDesks(c, url, log)
	if err != nil {
		return nil, err
	}
	i := &Instance{registry: d.registry, closers: d.closers(), machine: here}
	d.maintenance.Operations = func() {
		if work := i.operations.Load(); work != nil {
			work.Look()
		}
	}
	me, err := introduce(c, here)
	if err != nil {
		return nil, err
	}
	opener, keys, err := opener(c)
	if err != nil {
		return nil, err
	}
	i.opener, me.Keys = opener, keys.IDs()
	i.me.Store(&me)
	if i.telemetry, err = startTelemetry(context.Background(), c, me.Name, d.metrics, log); err != nil {
		return nil, err
	}
	messages, err := newCourier(c, d.outgoing, log)
	if err != nil {
		return nil, err
	}
	beat := fmt.Sprintf("bellhop_beat_%016x", rand.Uint64())
	p := d.ports(i.telemetry)
	p.Registry = members{d.registry, &i.me, beat, back, i.telemetry.past}
	p.Reaper = reaper{d.registry, here}
	p.Stop = stop
	p.Bell = &instance.Bell{
		Listener: triggers.Listener{URL: d.direct, Heartbeat: beat, Log: log, Connected: i.telemetry.metrics.Connected},
	}
	p.Courier = messages
	p.Lookout = newLookout(c, d.direct, i.telemetry)
	tree := startTree(c, stderr, log, d.asker, commands{d.attacher}, heir, i.opener, p)
	i.System, i.launcher = tree.System, tree.launcher
	return i, i.telemetry.watch(i.System, d.metrics)
}

// commands finds what is run for rows of attached tables.
type commands struct{ *store.Attacher }

// commandPatience bounds how long a child waits for the command of its row.
const commandPatience = 15 * time.Second

func (c commands) of(job scheduler.JobID) (scheduler.Attached, bool, error) {
	if c.Attacher == nil {
		return scheduler.Attached{}, false, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), commandPatience)
	defer cancel()
	return c.Command(ctx, job)
}

// withRows adds the agent that runs commands stored in the database, where
// those are obeyed. They run on this machine: it is where their folders are.
func withRows(c config.Config) config.Config {
	if c.CommandsFromDatabase != nil && *c.CommandsFromDatabase {
		a := config.Agent{
			Type:    agents.AttachedType,
			Mode:    config.Mode(agents.ModeExec),
			Dialect: config.Dialect(agents.DialectAuto),
		}
		a.FOSSology.Local = true
		c.Agents = append(slices.Clone(c.Agents), a)
	}
	return c
}

// startTree starts the tree of a configuration on a queue, of which p has the
// ports. database opens the sessions of agents that may say DB:.
func startTree(
	c config.Config, stderr io.Writer, log *slog.Logger, database func() agents.Database, attached commands,
	heir heirs, opener *instance.Opener, p actors.Config,
) launched {
	// The launcher and the tree need each other: agents speak only when the tree
	// has started them.
	var system atomic.Pointer[actors.System]
	launcher := agents.NewLauncher(agents.Config{Specs: fleet.Specs(c), Connect: fleet.Connects(c), Stderr: stderr,
		Heir: heir,
		Log: func(list []scheduler.Entry) {
			if s := system.Load(); s != nil {
				s.Say(list)
			}
		},
		Progress: func(p scheduler.Progress) {
			if s := system.Load(); s != nil {
				s.Progress(p)
			}
		},
		HowFar: func(h scheduler.HowFar) {
			if s := system.Load(); s != nil {
				s.HowFar(h)
			}
		},
		Result: c.Limits.Result,
		Locks: func(ask scheduler.LockAsk, answer func(scheduler.LockAnswer)) {
			if s := system.Load(); s != nil {
				s.Ask(ask, answer)
			}
		},
		Steps: func(ctx context.Context, of scheduler.Claim, step scheduler.SavedStep) error {
			return system.Load().SaveStep(ctx, of, step) // an agent with a line was started by it
		},
		Answers:  agents.Answers{Timeout: c.Limits.DBTimeout, Rows: c.Limits.DBRows, Bytes: c.Limits.DBBytes},
		Database: database,
		Attached: attached.of,
		Open:     opener.Open,
		Unlimited: func(typ scheduler.TypeName, host scheduler.HostName, why string) {
			log.Warn("agents: memory and cpu are not limited", "type", typ, "host", host, "why", why)
		},
		Trouble: func(typ scheduler.TypeName, host scheduler.HostName, why scheduler.Account) {
			if s := system.Load(); s != nil {
				s.Trouble(typ, host, why)
			}
		},
	})
	p.Hosts, p.Agents = hostSpecs(c), agentTypes(c)
	p.Heartbeat, p.Lag = c.Instance.Heartbeat, c.Instance.Lag
	p.Respawn = scheduler.RespawnPolicy{Deaths: c.Limits.Deaths, Window: c.Limits.Window}
	p.Idle, p.MinReady, p.KillAfter = c.Limits.Idle, c.Limits.MinReady, c.Limits.KillAfter
	p.Scan, p.ExclusiveAfter, p.Cursors, p.Retry, p.Log = safetyScan, exclusiveAfter, cursors, scheduler.DefaultRetry, log
	p.EngineCommands, p.Launcher = engineCommands{launcher}, launch{launcher}
	p.RowType, p.RetentionEvery = agents.AttachedType, c.Retention.Every
	tree := actors.Start(p)
	system.Store(tree)
	return launched{tree, launcher}
}

// End ends the tree, tells the others that nothing here runs any more, and
// lets go of the connections. What runs may finish until ctx ends.
func (i *Instance) End(ctx context.Context) error {
	err := i.Stop(ctx, 10*time.Second)
	if id := i.ID(); id != 0 && err == nil {
		i.telemetry.past.Write(context.Background(), i.registry, id, true)
		bury := func() error {
			bye, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			_, _, err := i.registry.MarkGone(bye, id, "it was stopped", true)
			return err
		}
		if err = bury(); err != nil { // a connection that broke since the last heartbeat is found out by its use
			err = bury()
		}
	}
	i.launcher.Close()
	i.telemetry.stop()
	for _, d := range i.closers {
		d.Close()
	}
	return err
}

// lockTemplates are the locks that agents say all their jobs need.
func lockTemplates(c config.Config) (lock.Templates, error) {
	all := lock.Templates{}
	for _, a := range c.Agents {
		if len(a.Locks) == 0 {
			continue
		}
		templates, err := lock.ParseTemplates(a.Locks, c.Policy.Levels)
		if err != nil {
			return nil, fmt.Errorf("agent %s: %w", a.Type, err)
		}
		all[string(a.Type)] = templates
	}
	return all, nil
}

func agentTypes(c config.Config) []port.AgentType {
	var list []port.AgentType
	for _, a := range c.Agents {
		list = append(list, port.AgentType{Name: a.Type, Max: a.Max, MaxPerHost: a.MaxPerHost, Weight: a.Weight,
			Takes: a.Takes(),
			Exec:  string(a.Mode) == string(agents.ModeExec) || a.Dialect == config.DialectFOSSology,
			Local: a.FOSSology.Local, Exclusive: a.FOSSology.Exclusive, Locked: len(a.Locks) > 0,
			Timeout: a.Timeout, StartTimeout: c.Limits.StartTimeout, Retry: a.Retry})
	}
	return list
}

// The adapters: what two packages call the same thing, here they are one.

type launch struct{ *agents.Launcher }

func (l launch) Serves(id scheduler.InstanceID) { l.SetInstance(id) }

func (l launch) Launch(
	typ scheduler.TypeName, child scheduler.ChildName, host scheduler.HostName, lease time.Duration, wake func(),
) (port.Process, error) {
	p, err := l.Launcher.Launch(typ, child, host, lease, wake)
	if err != nil {
		return nil, err
	}
	return p, nil
}
