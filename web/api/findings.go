package api

import (
	"context"
	"fmt"

	"bellhop/sql/store"
)

// Finding is what is not as it should be, with the line that mends it. bellhop
// doctor has these, and those that only the machine itself can tell.
type Finding struct {
	Check   string `json:"check"`
	Verdict string `json:"verdict" enum:"ok,note,mend"`
	Says    string `json:"says"`
	Mend    string `json:"mend"                        doc:"What to type; may be empty"`
}

// Findings are all of them.
type Findings struct {
	OK       bool      `json:"ok"`
	Findings []Finding `json:"findings" nullable:"false"`
}

// silentAfter is how long a heartbeat is waited for before it is worth a word, in seconds.
const silentAfter = 10

func findings(ctx context.Context, l store.Look, _ *struct{}) (f Findings, err error) {
	f.Findings = []Finding{}
	say := func(check, verdict, says, mend string) {
		f.Findings = append(f.Findings, Finding{check, verdict, says, mend})
	}
	instances, err := l.Instances(ctx)
	if err != nil {
		return f, err
	}
	for _, i := range instances {
		if i.Silent > silentAfter {
			say("instances", "mend", fmt.Sprintf("%s has not been heard of for %.0f s", i.Name, i.Silent), "bellhop serve")
		}
	}
	if len(instances) == 0 {
		say("instances", "mend", "no instance is running", "bellhop serve")
	}
	hosts, err := l.Hosts(ctx)
	if err != nil {
		return f, err
	}
	for _, h := range hosts {
		if h.Trouble != nil && h.State != "up" {
			say("hosts", "mend", h.Name+" is "+h.State+": "+*h.Trouble, "bellhop hosts")
		}
	}
	agents, err := l.Agents(ctx)
	if err != nil {
		return f, err
	}
	for _, agent := range agents {
		if len(agent.Trouble) > len("{}") {
			say("agents", "mend", fmt.Sprintf("%s does not come up: %s", agent.Type, agent.Trouble), "bellhop agents")
		}
	}
	attachments, err := l.Attachments(ctx)
	if err != nil {
		return f, err
	}
	for _, x := range attachments {
		if x.Trouble != nil {
			say("attachments", "mend", x.Name+": "+*x.Trouble, "bellhop attachments")
		}
	}
	paused, err := l.Paused(ctx)
	if err != nil {
		return f, err
	}
	for _, p := range paused {
		what, next := p.Type, "bellhop resume "+p.Type
		if what == "" {
			what, next = "everything", "bellhop resume"
		}
		say("paused", "note", what+" is paused by "+p.PausedBy, next)
	}
	f.OK = true
	for _, one := range f.Findings {
		f.OK = f.OK && one.Verdict != "mend"
	}
	return f, nil
}
