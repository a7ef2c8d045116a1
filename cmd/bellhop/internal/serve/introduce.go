package serve

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"bellhop/actors"
	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/config"
	"bellhop/scheduler"
	"bellhop/sql/store"
)

// introduce is how this process presents itself to the other instances.
func introduce(c config.Config, machine string) (store.Instance, error) {
	hostname, err := os.Hostname()
	if err != nil {
		return store.Instance{}, fmt.Errorf("find this machine's name: %w", err)
	}
	start, err := cli.ProcessStart(os.Getpid())
	if err != nil {
		return store.Instance{}, fmt.Errorf("find out when this process started: %w", err)
	}
	published, err := c.Policy.JSON()
	if err != nil {
		return store.Instance{}, fmt.Errorf("publish the policy: %w", err)
	}
	policy := string(published)
	me := store.Instance{Name: cmp.Or(c.Instance.Name, hostname), Hostname: hostname, Machine: machine, Pid: os.Getpid(),
		ProcessStart: start, Version: cli.Version(), Lag: c.Instance.Lag, Queries: cursors, Policy: &policy}
	for _, h := range c.Hosts {
		state := scheduler.HostUp
		if len(h.Connect) > 0 {
			state = scheduler.HostConnecting
		}
		spec := hostSpec(h)
		me.Hosts = append(me.Hosts, store.Host{Name: string(h.Name), Slots: h.Slots, Serves: h.Serves, State: state,
			Far: spec.Far, Types: spec.Only, Takes: spec.Takes})
	}
	for _, a := range c.Agents {
		attempts := 1
		if a.Retry != nil {
			attempts = a.Retry.Attempts
		}
		me.Agents = append(me.Agents, store.Agent{Type: string(a.Type), Mode: string(a.Mode), Dialect: string(a.Dialect),
			Command: cmp.Or(strings.Join(a.Command, " "), "(of each attachment)"), Max: a.Max, MaxPerHost: a.MaxPerHost,
			Local: a.FOSSology.Local, Exclusive: a.FOSSology.Exclusive, Attempts: attempts, Locks: a.Locks})
	}
	return me, nil
}

func hostSpecs(c config.Config) []actors.HostSpec {
	var list []actors.HostSpec
	for _, h := range c.Hosts {
		list = append(list, hostSpec(h))
	}
	return list
}

func hostSpec(h config.Host) actors.HostSpec {
	spec := actors.HostSpec{Name: h.Name, Slots: h.Slots, Far: len(h.Connect) > 0, Serves: h.Serves, Takes: h.Only()}
	for _, t := range h.OnlyTypes {
		spec.Only = append(spec.Only, scheduler.TypeName(t))
	}
	return spec
}
