package serve

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"bellhop/actors/port"
	"bellhop/agents"
	"bellhop/config"
	"bellhop/scheduler"
	"bellhop/scheduler/engine"
)

// engineMost is how many jobs of a type are on its engine at once, where max does not say.
const engineMost = 10_000

// withEngines adds a host for each type whose work runs elsewhere; other hosts take no jobs of it.
func withEngines(list []port.HostSpec, c config.Config) []port.HostSpec {
	var engines []port.HostSpec
	var others []scheduler.TypeName
	for _, a := range c.Agents {
		if a.Mode != config.ModeEngine {
			others = append(others, a.Type)
			continue
		}
		rules := engine.Defaults
		rules.SubmitTimeout, rules.LostAfter = a.Engine.SubmitTimeout, a.Engine.LostAfter
		rules.Quiet = min(rules.Quiet, rules.SubmitTimeout)
		engines = append(engines, port.HostSpec{
			Name: scheduler.HostName(a.Engine.Name + ":" + string(a.Type)), Slots: cmp.Or(a.Max, engineMost),
			Serves: []string{a.Engine.Name}, Terms: scheduler.Terms{Only: []scheduler.TypeName{a.Type}},
			Engine: &port.EngineSpec{Engine: a.Engine.Name, Type: a.Type, Rules: rules, Poll: a.Engine.PollEvery,
				Submits: a.Engine.Submits, Ends: a.Ends, Logs: a.Engine.Preset() || len(a.Engine.Logs) > 0},
		})
	}
	if engines == nil {
		return list
	}
	for i, h := range list {
		if h.Only == nil {
			list[i].Only = append(slices.Clone(others), "(none)")
		}
	}
	return append(list, engines...)
}

// engineCommands run where the instance does.
type engineCommands struct{ *agents.Launcher }

func (e engineCommands) Run(
	ctx context.Context, call scheduler.EngineCall, lease func() time.Duration,
) scheduler.EngineSaid {
	return e.RunEngine(ctx, call, lease)
}

// shownCommand is what an agent runs, for display.
func shownCommand(a config.Agent) string {
	switch {
	case a.Mode == config.ModeEngine:
		return a.Engine.Name + ": " + cmp.Or(strings.Join(a.Command, " "), strings.Join(a.Engine.Submit, " "))
	case len(a.Command) == 0:
		return "(of each attachment)"
	}
	return strings.Join(a.Command, " ")
}
