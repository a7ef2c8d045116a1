package page

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"bellhop/scheduler"
	"bellhop/scheduler/words"
	"bellhop/sql/view"
	"bellhop/verb"
)

type pruneData struct {
	Older   string // for how long jobs have been over, as typed
	Wrong   string // why it is no such time
	States  []stateChoice
	Asked   bool // what would be deleted is counted
	Rows    []view.PruneRow
	Jobs    int64
	Until   string // before when they ended: what was counted is what is deleted
	Address string
}

// prunable are the states of jobs that are over.
var prunable = []scheduler.JobState{scheduler.Succeeded, scheduler.Cancelled, scheduler.Failed, scheduler.Quarantined}

// prune counts what would be deleted, and offers it to callers that may.
func prune(r *request) (content, error) {
	d := pruneData{Older: strings.TrimSpace(r.query.Get("older")), Address: r.pages.Address}
	f := view.PruneFilter{}
	for _, s := range prunable {
		on := slices.Contains(r.query["state"], string(s))
		if len(r.query["state"]) == 0 {
			on = s == scheduler.Succeeded || s == scheduler.Cancelled
		}
		d.States = append(d.States, stateChoice{State: s, On: on})
		if on {
			f.States = append(f.States, s)
		}
	}
	if d.Older == "" {
		d.Older = "30d"
	} else if age, err := words.ParseAge(d.Older); err != nil {
		d.Wrong = "“" + clean(d.Older) + "” is not a time such as 90m, 36h or 30d"
	} else if r.may.Operates {
		if f.Until, err = r.Look.Ago(r, age); err != nil {
			return content{}, err
		}
		if d.Rows, err = r.Look.PruneCount(r, f); err != nil {
			return content{}, err
		}
		d.Asked, d.Until = true, f.Until.UTC().Format(time.RFC3339Nano)
		for _, row := range d.Rows {
			d.Jobs += row.Jobs
		}
	}
	return content{Title: "Delete finished jobs", Template: "prune", Data: d}, nil
}

// Yourself are the deeds of the button.
func (d pruneData) Yourself() []deed {
	line := "bellhop prune --older-than " + shell(d.Older)
	for _, s := range d.States {
		if s.On {
			line += " -s " + string(s.State)
		}
	}
	return []deed{{Says: "Count", Line: line + " --dry-run"}, {Says: "Delete", Line: line}}
}

// pruneLong is for how long one press deletes: if more is left, press again; each answer comes in time.
const pruneLong = 5 * time.Second

// pruneIn reads what a form of the page names.
func pruneIn(form url.Values, in *verb.In) (err error) {
	if in.Ended.Until, err = time.Parse(time.RFC3339Nano, form.Get("until")); err != nil || len(form["state"]) == 0 {
		return errNotFound
	}
	for _, s := range form["state"] {
		if !slices.Contains(prunable, scheduler.JobState(s)) {
			return errNotFound
		}
		in.Ended.States = append(in.Ended.States, scheduler.JobState(s))
	}
	return nil
}
