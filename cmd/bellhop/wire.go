package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"bellhop/actors"
	"bellhop/agents"
	"bellhop/config"
	"bellhop/scheduler"
	"bellhop/sql/store"
	"bellhop/triggers"
)

// safetyScan is the slow look that finds what every notification missed.
const safetyScan = 5 * time.Second

// cursors is how many MSQ jobs an instance runs at once: each holds a
// connection while its rows are read.
const cursors = 32

// instance is a running scheduler with everything that was opened for it.
type instance struct {
	*actors.System
	registry *store.Registry
	desks    []interface{ Close() }
}

// startInstance wires the ports of package actors to what implements them, and
// starts the tree. It is the only place that sees both.
func startInstance(c config.Config, url string, stderr io.Writer, log *slog.Logger) (*instance, error) {
	for _, a := range c.Agents {
		if a.Dialect == config.DialectFOSSology {
			return nil, usage("configuration", fmt.Sprintf("agent %s: dialect fossology is not there yet", a.Type), "use classic, json or auto")
		}
	}
	i := &instance{}
	machine := thisMachine()
	claimer, err := store.NewClaimer(url)
	if err != nil {
		return nil, err
	}
	recorder, err := store.NewRecorder(url)
	if err != nil {
		return nil, err
	}
	registry, err := store.NewRegistry(url)
	if err != nil {
		return nil, err
	}
	keeper, err := store.NewKeeper(url)
	if err != nil {
		return nil, err
	}
	queries, err := store.NewCursors(cmp.Or(c.Database.MSQURL, url))
	if err != nil {
		return nil, err
	}
	i.registry = registry
	i.desks = []interface{ Close() }{claimer, recorder, registry, keeper}
	beat := fmt.Sprintf("bellhop_beat_%016x", rand.Uint64())
	// The launcher and the tree need each other: agents speak only when the tree
	// has started them.
	var system atomic.Pointer[actors.System]
	launcher := agents.NewLauncher(agents.Config{Specs: specs(c), Stderr: stderr, Log: func(list []scheduler.Entry) {
		if s := system.Load(); s != nil {
			s.Say(list)
		}
	}})
	me, err := introduce(c, machine)
	if err != nil {
		return nil, err
	}
	i.System = actors.Start(actors.Config{
		Hosts: hostSpecs(c), Agents: agentTypes(c),
		Heartbeat: c.Instance.Heartbeat, Lag: c.Instance.Lag, Grace: c.Instance.Grace,
		Respawn: scheduler.RespawnPolicy{Deaths: c.Limits.Deaths, Window: c.Limits.Window},
		Idle:    c.Limits.Idle, MinReady: c.Limits.MinReady, KillAfter: c.Limits.KillAfter,
		Scan: safetyScan, Cursors: cursors, Retry: scheduler.DefaultRetry, Log: log,
		Queue: queue{claimer, keeper}, Holdings: claimer, Records: recorder,
		Registry:   members{registry, me, beat},
		Undertaker: undertaker{registry, machine},
		Notices:    notices{registry, keeper},
		Bell:       &bell{listener: triggers.Listener{URL: cmp.Or(c.Database.ListenURL, url), Heartbeat: beat, Log: log}},
		Queries:    cursorOpener{queries},
		Launcher:   launch{launcher},
	})
	system.Store(i.System)
	return i, nil
}

// stop ends the tree, tells the others that nothing here runs any more, and
// lets go of the connections. What runs may finish until ctx ends.
func (i *instance) stop(ctx context.Context) error {
	err := i.Stop(ctx, 10*time.Second)
	if id := i.ID(); id != 0 && err == nil {
		bye, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		if _, _, err = i.registry.Bury(bye, id, "it was stopped", true); err != nil {
			// A connection that broke since the last heartbeat is found out by its use.
			_, _, err = i.registry.Bury(bye, id, "it was stopped", true)
		}
	}
	for _, d := range i.desks {
		d.Close()
	}
	return err
}

// introduce is how this process presents itself to the other instances.
func introduce(c config.Config, machine string) (store.Instance, error) {
	hostname, err := os.Hostname()
	if err != nil {
		return store.Instance{}, fmt.Errorf("find this machine's name: %w", err)
	}
	start, err := processStart(os.Getpid())
	if err != nil {
		return store.Instance{}, fmt.Errorf("find out when this process started: %w", err)
	}
	me := store.Instance{Name: cmp.Or(c.Instance.Name, hostname), Hostname: hostname, Machine: machine, Pid: os.Getpid(),
		ProcessStart: start, Version: version(), Lag: c.Instance.Lag}
	for _, h := range c.Hosts {
		me.Hosts = append(me.Hosts, store.Host{Name: string(h.Name), Slots: h.Slots, Serves: h.Serves})
	}
	for _, a := range c.Agents {
		me.Agents = append(me.Agents, store.Agent{Type: string(a.Type), Mode: string(a.Mode), Dialect: string(a.Dialect),
			Command: strings.Join(a.Command, " "), Max: a.Max, MaxPerHost: a.MaxPerHost})
	}
	return me, nil
}

func hostSpecs(c config.Config) []actors.HostSpec {
	var list []actors.HostSpec
	for _, h := range c.Hosts {
		list = append(list, actors.HostSpec{Name: h.Name, Slots: h.Slots})
	}
	return list
}

func agentTypes(c config.Config) []actors.AgentType {
	var list []actors.AgentType
	for _, a := range c.Agents {
		list = append(list, actors.AgentType{Name: a.Type, Max: a.Max, MaxPerHost: a.MaxPerHost,
			Exec: string(a.Mode) == string(agents.ModeExec), Timeout: a.Timeout, StartTimeout: c.Limits.StartTimeout})
	}
	return list
}

func specs(c config.Config) []agents.Spec {
	var list []agents.Spec
	for _, a := range c.Agents {
		list = append(list, agents.Spec{Type: a.Type, Command: a.Command, Mode: agents.Mode(a.Mode),
			Dialect: agents.Dialect(a.Dialect), Env: a.Env, Vars: a.Vars, WorkDir: a.WorkDir, User: a.User, StartTimeout: c.Limits.StartTimeout})
	}
	return list
}

// The adapters: what two packages call the same thing, here they are one.

type queue struct {
	*store.Claimer
	keeper *store.Keeper
}

func (q queue) Due(ctx context.Context) (int, time.Duration, error) { return q.keeper.Due(ctx) }

type members struct {
	*store.Registry
	me   store.Instance
	beat string
}

func (m members) Register(ctx context.Context) (scheduler.InstanceID, error) {
	return m.Registry.Register(ctx, m.me)
}

func (m members) Beat(ctx context.Context, id scheduler.InstanceID) error {
	return m.Registry.Beat(ctx, id, m.beat)
}

type notices struct {
	*store.Registry
	*store.Keeper
}

func (notices) Close() {} // both embedded desks have one, and neither is closed through here

type bell struct{ listener triggers.Listener }

func (b *bell) Run(ctx context.Context, rang, cancelRang, dueRang, beat func()) error {
	b.listener.Rang, b.listener.CancelRang, b.listener.DueRang, b.listener.Beat = rang, cancelRang, dueRang, beat
	return b.listener.Run(ctx)
}

func (b *bell) Cut() { b.listener.Cut() }

// rowsAtOnce is how many rows of an MSQ travel in one round trip.
const rowsAtOnce = 1000

type cursorOpener struct{ *store.Cursors }

func (c cursorOpener) Open(ctx context.Context, text string) (actors.Rows, error) {
	cursor, err := c.Cursors.Open(ctx, text, rowsAtOnce)
	if err != nil {
		return nil, err
	}
	return cursor, nil
}

type launch struct{ *agents.Launcher }

func (l launch) Serves(id scheduler.InstanceID) { l.SetInstance(id) }

func (l launch) Launch(typ scheduler.TypeName, child scheduler.ChildName, host scheduler.HostName, lease time.Duration, wake func()) (actors.Process, error) {
	p, err := l.Launcher.Launch(typ, child, host, lease, wake)
	if err != nil {
		return nil, err
	}
	return p, nil
}
