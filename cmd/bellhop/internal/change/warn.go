package change

import (
	"context"
	"slices"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/scheduler"
	"bellhop/sql/view"
)

// warnUnknown says so where no running instance has such a type: it may be misspelt, or come later.
func warnUnknown(ctx context.Context, a *cli.App, s *cli.Session, t scheduler.TypeName) error {
	agents, err := s.Agents(ctx)
	if err == nil && agentsOf(agents, t) == nil {
		noteUnknown(a, t, agents)
	}
	return err
}

func noteUnknown(a *cli.App, t scheduler.TypeName, agents []view.AgentRow) {
	types := make([]string, len(agents))
	for i, r := range agents {
		types[i] = string(r.Type)
	}
	slices.Sort(types)
	text := "no running instance has an agent of type " + cli.Clean(string(t))
	if best, ok := cli.Nearest(string(t), types); ok {
		text += "; did you mean " + cli.Clean(best) + "?  bellhop agents"
	} else {
		text += ": bellhop agents"
	}
	a.Note("warning: %s", text)
}

// agentsOf are the agents that do work of a type.
func agentsOf(agents []view.AgentRow, t scheduler.TypeName) (list []view.AgentRow) {
	for _, r := range agents {
		if r.Type == t || r.Type == scheduler.RJMType { // that one stands for any
			list = append(list, r)
		}
	}
	return list
}

// warnSubmission says on one line why nothing that runs now could do what is submitted. The job is submitted all the
// same: what it lacks may come later.
func warnSubmission(ctx context.Context, a *cli.App, s *cli.Session, sub view.Submission) error {
	agents, err := s.Agents(ctx)
	if err != nil {
		return err
	}
	able := agentsOf(agents, sub.Type)
	if able == nil {
		noteUnknown(a, sub.Type, agents)
		return nil
	}
	if name := refusedVar(able, sub.Vars); name != "" {
		a.Note("warning: no agent of type %s takes the var %s, so the job will fail: name it under agents[].vars in bellhop.yaml",
			cli.Clean(string(sub.Type)), cli.Clean(name))
		return nil
	}
	if sub.RunOn == nil {
		return nil
	}
	hosts, err := s.Hosts(ctx)
	if err != nil || slices.ContainsFunc(hosts, func(h view.HostRow) bool { return mayServe(h, *sub.RunOn) }) {
		return err
	}
	a.Note("warning: no host of a running instance has the name %s or serves it: bellhop hosts", cli.Clean(*sub.RunOn))
	return nil
}

// refusedVar is the first var that none of these agents takes; empty where each is taken, or where it is not known.
func refusedVar(agents []view.AgentRow, vars map[string]string) string {
	var names []string
	for name := range vars {
		takes := func(r view.AgentRow) bool {
			return r.Vars == nil || r.Type == scheduler.RJMType || r.Dialect == "fossology" || scheduler.TakesVar(r.Vars, name)
		}
		if !slices.ContainsFunc(agents, takes) {
			names = append(names, name)
		}
	}
	if names == nil {
		return ""
	}
	return slices.Min(names)
}

// mayServe reports whether a host answers to a key, or its instance asks a query where the host of a key is.
func mayServe(h view.HostRow, key string) bool {
	return h.Locates || scheduler.Locality{Host: scheduler.HostName(h.Name), Serves: h.Serves}.Covers(key)
}
