package page

import (
	"context"
	"net/url"
	"strconv"
	"strings"

	"bellhop/report"
	"bellhop/scheduler"
	"bellhop/scheduler/words"
	"bellhop/sql/store"
)

// Given is what a job was given, as a form can show it and give it back; nil: it has no such line.
func (d jobData) Given() *string {
	if d.Payload == nil || d.IsMSQ {
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

// again tries jobs once more with other args, or another priority. Both in one
// transaction: none is begun before it is what it is to be, and where it may not be
// changed it is not tried again either.
func again(ctx context.Context, l store.Look, ids []scheduler.JobID, form url.Values) (int, error) {
	var e store.Edit
	if strings.TrimSpace(form.Get("priority")) != "" {
		n, err := priorityOf(form)
		if err != nil {
			return 0, err
		}
		e.Priority = &n
	}
	if form.Has("args") && form.Get("args") != form.Get("was") {
		args := form.Get("args")
		e.Args = &args
	}
	list, err := l.RetryMany(ctx, ids)
	n, err := changes(list, err)
	if err != nil || n == 0 {
		return n, err
	}
	_, err = l.Edit(ctx, ids, e)
	return n, err
}

// behind tries a job once more, and those behind it that are over.
func behind(ctx context.Context, l store.Look, ids []scheduler.JobID, _ url.Values) (n int, err error) {
	for _, id := range ids {
		some, err := l.RetryBehind(ctx, id)
		if err != nil {
			return n, err
		}
		if some == nil {
			return n, errNotFound
		}
		n += *some
	}
	return n, nil
}

// fromHere is what "retry from here" would do, as a button says it.
type fromHere struct{ store.Behind }

// Button is what stands on it.
func (f fromHere) Button() string { return fromHereButton(f.Follow, f.Refused()) }

// Line is what is said where the mouse rests on it.
func (f fromHere) Line() string {
	return "bellhop retry --behind " + strconv.FormatInt(int64(f.ID), 10) + ": " + report.Behind(f.Behind)
}

func fromHereButton(follow int64, refused bool) string {
	switch {
	case refused:
		return "Retry from here: not now"
	case follow == 0:
		return "Retry from here"
	case follow == 1:
		return "Retry from here: 1 follows"
	}
	return "Retry from here: " + words.Grouped(follow) + " follow"
}

// followers tells of each job of a graph how many of those that need it, by way of others too,
// are over; ends are those that only begin or end a run.
func followers(g store.Graph, ends map[scheduler.JobID]bool) map[scheduler.JobID]int64 {
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
