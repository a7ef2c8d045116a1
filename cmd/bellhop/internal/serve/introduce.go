package serve

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"

	"bellhop/actors/port"
	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/config"
	"bellhop/machine"
	"bellhop/scheduler"
	"bellhop/sql/store"
)

// introduce is how this process presents itself to the other instances.
func introduce(c config.Config, here string) (store.Instance, error) {
	hostname, err := os.Hostname()
	if err != nil {
		return store.Instance{}, fmt.Errorf("find this machine's name: %w", err)
	}
	start, err := machine.ProcessStart(os.Getpid())
	if err != nil {
		return store.Instance{}, fmt.Errorf("find out when this process started: %w", err)
	}
	published, err := c.Policy.JSON()
	if err != nil {
		return store.Instance{}, fmt.Errorf("publish the policy: %w", err)
	}
	policy := string(published)
	seen, err := json.Marshal(newLookout(c, "here", nil).Sees())
	if err != nil {
		return store.Instance{}, fmt.Errorf("publish what can be watched: %w", err)
	}
	watches := string(seen)
	me := store.Instance{Name: cmp.Or(c.Instance.Name, hostname), Hostname: hostname, Machine: here, Pid: os.Getpid(),
		ProcessStart: start, Version: cli.Version(), Lag: c.Instance.Lag, Queries: cursors, Policy: &policy,
		Tells: tells(c), Watches: &watches, Listen: c.Listen}
	for _, spec := range hostSpecs(c) {
		state := scheduler.HostUp
		if spec.Far {
			state = scheduler.HostConnecting
		}
		me.Hosts = append(me.Hosts, store.Host{Name: string(spec.Name), Slots: spec.Slots, Serves: spec.Serves, State: state,
			Terms: spec.Terms, Locates: c.Locate != "", Takes: spec.Takes})
	}
	for _, a := range c.Agents {
		me.Agents = append(me.Agents, store.Agent{Type: string(a.Type), Mode: string(a.Mode), Dialect: string(a.Dialect),
			Command: shownCommand(a), Max: a.Max, MaxPerHost: a.MaxPerHost, Takes: a.Takes(),
			Local: a.FOSSology.Local, Exclusive: a.FOSSology.Exclusive, Retry: a.Retry, Locks: a.Locks,
			Share: a.Share, Vars: a.Vars})
	}
	return me, nil
}

func hostSpecs(c config.Config) []port.HostSpec {
	var list []port.HostSpec
	for _, h := range c.Hosts {
		list = append(list, hostSpec(h))
	}
	return withEngines(list, c)
}

func hostSpec(h config.Host) port.HostSpec {
	return port.HostSpec{Name: h.Name, Slots: h.Slots, Terms: h.Terms(), Serves: h.Serves, Takes: h.Only()}
}
