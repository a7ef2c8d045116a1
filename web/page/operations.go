package page

import (
	"cmp"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"time"

	"bellhop/report"
	"bellhop/scheduler"
	"bellhop/sql/view"
	"bellhop/verb"
)

// operationsMost is how many operations a page lists.
const operationsMost = 50

type operationsData struct {
	Operations    []operationRow
	Older, Newest bool
	Next          int64
}

// operationRow is an operation with what a page says of it besides.
type operationRow struct{ view.OperationRow }

func operations(r *request) (content, error) {
	var d operationsData
	var before *int64
	if n, err := strconv.ParseInt(r.query.Get("before"), 10, 64); err == nil && n > 0 {
		before, d.Newest = &n, true
	}
	list, err := r.Look.Operations(r, before, operationsMost+1)
	if err != nil {
		return content{}, err
	}
	d.Older = len(list) > operationsMost
	for _, o := range list[:min(len(list), operationsMost)] {
		d.Operations = append(d.Operations, operationRow{o})
		d.Next = o.ID
	}
	return content{Title: "Operations", Template: "operations", Data: d}, nil
}

type operationData struct {
	operationRow
	ByState []plannedState
	Address string
}

// plannedState is how many jobs of a state a filter lets through, and how many of them are to change.
type plannedState struct {
	State scheduler.JobState
	N, To int64
}

func oneOperation(r *request) (content, error) {
	id, err := strconv.ParseInt(r.arg, 10, 64)
	if err != nil || id <= 0 {
		return content{}, errNotFound
	}
	o, ok, err := r.Look.Operation(r, id)
	if err != nil {
		return content{}, err
	}
	if !ok {
		return content{}, errNotFound
	}
	d := operationData{operationRow: operationRow{o}, Address: r.pages.Address}
	for _, s := range scheduler.JobStates {
		if n := o.ByState[string(s)]; n > 0 {
			d.ByState = append(d.ByState, plannedState{s, n, n - o.Skipped[string(s)]})
		}
	}
	return content{Title: "Operation " + r.arg, Template: "operation", Data: d}, nil
}

// Order is what is to be done, and with which jobs.
func (o operationRow) Order() string { return report.Order(o.OperationRow) }

// For is its filter in words.
func (o operationRow) For() string { return clean(report.OperationFilter(o.Filter)) }

// Others says how many jobs besides need these, and what becomes of them.
func (o operationRow) Others() string { return report.Dependents(o.Dependents) }

// Over is how many jobs it need not look at any more.
func (o operationRow) Over() int64 { return min(o.Planned, o.Done+o.Refused) }

// Waits reports whether nothing has been changed yet.
func (o operationRow) Waits() bool { return o.StartedAt == nil }

// CanStart, CanStop and CanUndo say which buttons there are.
func (o operationRow) CanStart() bool { return o.State == "planned" || o.State == "stopped" }
func (o operationRow) CanStop() bool  { return o.State == "planned" || o.State == "running" }
func (o operationRow) CanUndo() bool {
	return !o.Waits() && o.Done > 0 && (o.State == "done" || o.State == "stopped") && o.Undoable()
}

// Undoable reports whether it is one that can be undone at all.
func (o operationRow) Undoable() bool { return report.Undoable(o.OperationRow) }

// unworked is the time after which an operation is taken to be abandoned: an instance looks once a minute.
const unworked = 90 * time.Second

// Stuck reports whether it should go on, and does not.
func (o operationRow) Stuck() bool {
	last := o.StartedAt
	if o.WorkedAt != nil {
		last = o.WorkedAt
	}
	return (o.State == "running" || o.State == "stopping") && last != nil && time.Since(*last) > unworked
}

// PlannedWhen and Took are for templates.
func (o operationRow) PlannedWhen() *time.Time { return &o.PlannedAt }
func (o operationRow) Took() string            { return took(o.StartedAt, o.EndedAt) }

// errNoFilter: an order whose filter says nothing, or what cannot be, is not one for every job.
var errNoFilter = unfit{"The filter is not valid", "this form names no jobs: filter them on the page of jobs, and choose the operation there"}

// planIn reads the filter and the verb of a form of the jobs page. A field that means nothing is refused: without it
// the order would be for more jobs than were shown.
func planIn(form url.Values, in *verb.In) (err error) {
	f := map[string]any{}
	of := "created"
	field := func(name string, v any, ok bool) {
		if ok {
			f[name] = v
		} else if strings.TrimSpace(form.Get(name)) != "" {
			err = unfit{"The filter is not valid", name + " “" + clean(form.Get(name)) + "”: there is no such"}
		}
	}
	for _, s := range form["state"] {
		if !scheduler.JobState(s).Valid() {
			return unfit{"The filter is not valid", "state “" + clean(s) + "”: there is no such"}
		}
		f["state"] = form["state"]
	}
	// A group of the page of failures, whose times are those of their ends. What agents said stands there as in an
	// address.
	if form.Has("failure") {
		failure, wrong := url.QueryUnescape(form.Get("failure"))
		types := escapedTypes(form["type"])
		if wrong != nil || len(types) == 0 {
			return errNoFilter
		}
		f["type"], f["failure"], of = types, failure, "ended"
	} else {
		types := typesOf(form.Get("type"))
		field("type", types, len(types) > 0)
	}
	key, text := keyOf(form.Get("key")), strings.TrimSpace(form.Get("error"))
	field("key", key, key != "")
	field("error", text, text != "")
	run, wrong := strconv.ParseInt(form.Get("run"), 10, 64)
	field("run", run, wrong == nil && run > 0)
	times := timesOf(form)
	if err = cmp.Or(err, times.err()); err != nil {
		return err
	}
	if times.after != nil {
		f[of+"_after"] = times.after
	}
	if times.before != nil {
		f[of+"_before"] = times.before
	}
	switch all := form.Get("all") == "true"; {
	case len(f) == 0 && !all:
		return errNoFilter
	case len(f) == 0:
		f["all"] = true
	}
	if in.Order = form.Get("verb"); in.Order == "priority" {
		if err := priorityIn(form, in); err != nil {
			return err
		}
	}
	in.Match, err = json.Marshal(f)
	return err
}

// escapedTypes are types that stand in a form as in an address; none where one of them cannot be one.
func escapedTypes(list []string) (types []scheduler.TypeName) {
	for _, text := range list {
		t := typeOf(url.Values{"type": {text}})
		if t == nil {
			return nil
		}
		types = append(types, *t)
	}
	return types
}

// Skipped is how many of them the verb does not change.
func (s plannedState) Skipped() int64 { return s.N - s.To }
