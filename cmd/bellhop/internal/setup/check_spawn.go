//go:build unix

package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"bellhop/agents"
	"bellhop/cmd/bellhop/internal/fleet"
	"bellhop/config"
	"bellhop/scheduler"
)

// spawnAll starts each agent once on each host that takes it, all hosts at the
// same time and the agents of one host one after the other.
func spawnAll(ctx context.Context, c config.Config) []spawned {
	l := agents.NewLauncher(agents.Config{Specs: fleet.Specs(c), Connect: fleet.Connects(c), Stderr: io.Discard})
	lists := make([][]spawned, len(c.Hosts))
	var all sync.WaitGroup
	for i, h := range c.Hosts {
		all.Go(func() { lists[i] = spawnOn(ctx, l, c, h) })
	}
	all.Wait()
	return slices.Concat(lists...)
}

func spawnOn(ctx context.Context, l *agents.Launcher, c config.Config, h config.Host) (list []spawned) {
	host := string(h.Name)
	if err := l.Reach(ctx, h.Name); err != nil {
		return []spawned{{Host: host, Said: err.Error()}}
	}
	for _, a := range c.Agents {
		switch {
		case h.Terms().Refuses(a.Type, a.FOSSology.Local, a.Takes()) != "":
			continue
		case a.Mode == config.ModeEngine:
			continue
		case a.Mode == config.ModeExec:
			// It has no start that can be told from its work.
			list = append(list, judge(host, a, l.Look(ctx, a.Type, h.Name), "found; not started, since mode exec does its work at once"))
		case a.Dialect == config.DialectFOSSology:
			took, err := startUpTest(ctx, l, a, h.Name, c.Limits)
			list = append(list, judge(host, a, err, "said VERSION, OK and BYE 0 after "+took.Round(time.Millisecond).String()))
		default:
			took, err := spawnOne(ctx, l, a, h.Name, c.Limits)
			list = append(list, judge(host, a, err, "said OK after "+took.Round(time.Millisecond).String()))
		}
	}
	if len(list) == 0 {
		list = append(list, spawned{Host: host, OK: true, Said: "reached; it has no agent"})
	}
	return list
}

func judge(host string, a config.Agent, err error, well string) spawned {
	v := spawned{Host: host, Type: string(a.Type), OK: err == nil, Said: well}
	if err != nil {
		v.Said = err.Error()
	}
	return v
}

// ring makes what tells of woken, and waits for nothing.
func ring(woken chan<- struct{}) func() {
	return func() {
		select {
		case woken <- struct{}{}:
		default:
		}
	}
}

// spawnOne starts an agent, waits for its first word and ends it.
func spawnOne(
	ctx context.Context, l *agents.Launcher, a config.Agent, host scheduler.HostName, limits config.Limits,
) (took time.Duration, err error) {
	woken := make(chan struct{}, 1)
	began := time.Now()
	p, err := l.Launch(a.Type, scheduler.ChildName(a.Type)+".check", host, 0, ring(woken))
	if err != nil {
		return 0, err
	}
	defer func() {
		p.Close()
		soft := time.AfterFunc(min(limits.KillAfter, time.Second), p.Kill)
		<-p.Done()
		soft.Stop()
	}()
	patience := time.NewTimer(limits.StartTimeout)
	defer patience.Stop()
	for {
		for _, ev := range p.Take(nil) {
			switch ev.Kind {
			case scheduler.EventReady:
				return time.Since(began), nil
			case scheduler.EventExited:
				return 0, fmt.Errorf("it ended without an OK: %s", ev.Told())
			case scheduler.EventOutputClosed:
				return 0, errors.New(ev.Told())
			}
		}
		select {
		case <-woken:
		case <-patience.C:
			return 0, fmt.Errorf("no OK within %s (limits.start_timeout)", limits.StartTimeout)
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// startUpTest is what FOSSology's scheduler does before it trusts an agent: it
// is started with nothing to do, and has to say so and go.
func startUpTest(
	ctx context.Context, l *agents.Launcher, a config.Agent, host scheduler.HostName, limits config.Limits,
) (took time.Duration, err error) {
	if err := l.Look(ctx, a.Type, host); err != nil {
		return 0, err
	}
	woken := make(chan struct{}, 1)
	p, err := l.Launch(a.Type, scheduler.ChildName(a.Type)+".check", host, 0, ring(woken))
	if err != nil {
		return 0, err
	}
	defer func() {
		p.Kill()
		<-p.Done()
	}()
	began := time.Now()
	p.Feed([]scheduler.Line{{Claim: scheduler.Claim{Job: 1, Fence: 1}, Attempt: 1}})
	patience := time.NewTimer(limits.StartTimeout)
	defer patience.Stop()
	for {
		for _, ev := range p.Take(nil) {
			switch {
			case ev.Kind == scheduler.EventAnswered && ev.OK:
				return time.Since(began), nil
			case ev.Kind == scheduler.EventAnswered || ev.Kind == scheduler.EventExited:
				return 0, errors.New(ev.Told())
			}
		}
		select {
		case <-woken:
		case <-patience.C:
			return 0, fmt.Errorf("no BYE within %s (limits.start_timeout)", limits.StartTimeout)
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}
