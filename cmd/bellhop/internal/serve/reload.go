package serve

import (
	"context"
	"log/slog"
	"time"

	"bellhop/actors"
	"bellhop/actors/port"
	"bellhop/agents"
	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/cmd/bellhop/internal/fleet"
	"bellhop/config"
	"bellhop/scheduler"
	"bellhop/seal"
)

// reloader takes the configuration anew while an instance runs.
type reloader struct {
	load     func() (config.Config, error)
	file     config.Config // what the instance goes by, as the file had it
	commands *bool         // whether commands from the database are obeyed, file or not
	instance *Instance
	log      *slog.Logger
}

// reloadPatience is how long telling the database of a reload may take.
const reloadPatience = 10 * time.Second

// reload takes what has changed in the file. Where anything is wrong with that,
// all of it is told, and nothing is taken.
func (r *reloader) reload() {
	now, err := r.load()
	var keys *seal.Keys
	if err == nil {
		keys, err = readKeys(now)
	}
	said := ""
	if err != nil {
		said = cli.Redact(err.Error())
		r.log.Error("the configuration is refused; the one before stays in force", "error", said)
	} else {
		changes := config.Compare(r.file, now)
		r.file = changes.Config
		said = changes.String()
		opens := r.instance.takeKeys(keys)
		switch {
		case opens != "" && changes.Nothing() && len(changes.Restart) == 0:
			said = opens
		case opens != "":
			said += "; " + opens
		}
		if !changes.Nothing() || opens != "" {
			r.instance.take(r.effective(), changes.Changed)
		}
		r.log.Info("configuration reloaded", "took", said)
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), reloadPatience)
		defer cancel()
		if failed := r.instance.registry.Reloaded(ctx, r.instance.ID(), err != nil, said); failed != nil {
			r.log.Warn("cannot notify other instances of the reload", "error", failed)
		}
	}()
}

// effective is the file with what serve adds to it.
func (r *reloader) effective() config.Config {
	c := r.file
	c.CommandsFromDatabase = r.commands
	return withRows(c)
}

// take hands a configuration to its users: the launcher first, for processes that are started as soon as the tree
// knows.
func (i *Instance) take(c config.Config, renewed []scheduler.TypeName) {
	i.launcher.Reload(fleet.Specs(c))
	if me, err := introduce(c, i.machine); err == nil { // it went well when it started
		me.Listen, me.Keys = i.me.Load().Listen, i.me.Load().Keys // these are not changed
		i.me.Store(&me)
	}
	i.System.Reload(port.Setup{Hosts: hostSpecs(c), Agents: agentTypes(c),
		Respawn: scheduler.RespawnPolicy{Deaths: c.Limits.Deaths, Window: c.Limits.Window},
		Idle:    c.Limits.Idle, MinReady: c.Limits.MinReady, KillAfter: c.Limits.KillAfter}, renewed)
}

// launched is a tree with what starts its processes.
type launched struct {
	*actors.System
	launcher *agents.Launcher
}
