package page

import (
	"net/url"
	"strings"

	"bellhop/report"
	"bellhop/scheduler"
	"bellhop/scheduler/words"
	"bellhop/sql/view"
	"bellhop/verb"
)

// Given is what a job was given, as a form can show it and give it back; nil: it has no such line.
func (d jobData) Given() *string {
	if d.Payload == nil || d.IsMSQ || d.Sealed {
		return nil
	}
	text := ""
	if d.Payload.Args != nil {
		text = *d.Payload.Args
	}
	if clean(text) != text {
		return nil
	}
	return &text
}

// againIn reads with which other args, or which other priority, jobs are tried once more.
func againIn(form url.Values, in *verb.In) error {
	if form.Has("args") && form.Get("args") != form.Get("was") {
		args := form.Get("args")
		in.Edit.Args = &args
	}
	if strings.TrimSpace(form.Get("priority")) == "" {
		return nil
	}
	return priorityIn(form, in)
}

// fromHere is what "retry from here" would do, as a button says it.
type fromHere struct{ view.Behind }

// Button is what stands on it.
func (f fromHere) Button() string { return fromHereButton(f.Follow, f.Refused()) }

// Line is what is said where the mouse rests on it.
func (f fromHere) Line() string {
	return line("behind", f.ID) + ": " + report.Behind(f.Behind)
}

func fromHereButton(follow int64, refused bool) string {
	switch {
	case refused:
		return "Retry from here: not now"
	case follow == 0:
		return "Retry from here"
	}
	return "Retry from here (+" + words.Count(int(follow), "dependent") + ")"
}

// followers tells of each job of a graph how many of those that need it, by way of others too,
// are over; ends are those that only begin or end a run.
func followers(g view.Graph, ends map[scheduler.JobID]bool) map[scheduler.JobID]int64 {
	over, needed := map[scheduler.JobID]bool{}, map[scheduler.JobID][]scheduler.JobID{}
	for _, n := range g.Nodes {
		over[n.ID] = n.State.Final() && !ends[n.ID]
	}
	for _, e := range g.Edges {
		needed[e.Needs] = append(needed[e.Needs], e.Job)
	}
	count := map[scheduler.JobID]int64{}
	for _, n := range g.Nodes {
		seen := map[scheduler.JobID]bool{n.ID: true}
		for todo := needed[n.ID]; len(todo) > 0; {
			j := todo[0]
			todo = todo[1:]
			if seen[j] {
				continue
			}
			seen[j] = true
			if over[j] {
				count[n.ID]++
			}
			todo = append(todo[:len(todo):len(todo)], needed[j]...)
		}
	}
	return count
}
