// Package fleet gives the hosts and agents of a configuration as package agents takes them: for serve, and for
// commands that try them without it.
package fleet

import (
	"cmp"
	"math"

	"bellhop/agents"
	"bellhop/config"
	"bellhop/scheduler"
)

// Connects is how the hosts are reached that are not this machine.
func Connects(c config.Config) map[scheduler.HostName][]string {
	ways := map[scheduler.HostName][]string{}
	for _, h := range c.Hosts {
		if len(h.Connect) > 0 {
			ways[h.Name] = h.Connect
		}
	}
	return ways
}

func Specs(c config.Config) []agents.Spec {
	var list []agents.Spec
	for _, a := range c.Agents {
		spec := agents.Spec{Type: a.Type, Command: a.Command, Mode: agents.Mode(a.Mode),
			Dialect: agents.Dialect(
				a.Dialect), DB: a.DB, Attached: a.Type == agents.AttachedType, Env: a.Env, Vars: a.Vars, WorkDir: a.WorkDir,
			User: a.User, StartTimeout: c.Limits.StartTimeout, Stdout: agents.Stdout(a.Stdout),
			Ends: a.Ends, Memory: a.Memory, CPU: a.CPU}
		if a.Dialect == config.DialectFOSSology {
			f := a.FOSSology
			spec.FOSSology = &agents.FOSSology{Config: f.Config, NoKill: f.NoKill, NoEmail: f.NoEmail, Verbose: f.Verbose,
				Silence: c.Limits.Silence, Check: c.Limits.AliveEvery, Checks: cmp.Or(c.Limits.AliveChecks, math.MaxInt),
				ByeGrace: c.Limits.KillAfter}
		}
		if a.Mode == config.ModeEngine {
			spec.Engine = engineCommands(a)
		}
		list = append(list, spec)
	}
	return list
}

// engineCommands are the commands of an agent's engine: its own, or those that come with the program.
func engineCommands(a config.Agent) *agents.EngineCommands {
	e := a.Engine
	ops := map[string][]string{"submit": e.Submit, "find": e.Find, "poll": e.Poll, "kill": e.Kill, "logs": e.Logs}
	for op, command := range ops {
		if len(command) == 0 && e.Preset() {
			ops[op] = agents.EnginePreset(e.Name, op)
		}
	}
	engine := &agents.EngineCommands{Ops: ops, Run: a.Command, Options: e.Options, Timeout: e.CallTimeout}
	if e.Preset() && len(e.Submit) == 0 {
		engine.Shipped = e.Name
	}
	return engine
}
