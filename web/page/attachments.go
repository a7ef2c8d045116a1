package page

import (
	"cmp"
	"math"
	"net/url"
	"slices"
	"time"

	"bellhop/scheduler"
	"bellhop/scheduler/words"
	"bellhop/sql/view"
)

// attachmentsMost is how many attached tables the page lists.
const attachmentsMost = 200

type attachmentsData struct {
	Troubled []attachedTable // these come first in Tables, too
	Tables   []attachedTable
	More     int
}

// attachedTable is an attachment with the words and links of the page.
type attachedTable struct {
	view.AttachmentRow
	now time.Time
}

// attachments shows attached tables, those in trouble first. Only operators may read commands: for a reader the
// statement that the server would refuse is not sent.
func attachments(r *request) (content, error) {
	look := r.Look.Attachments
	if r.may.Operates {
		look = r.Look.AttachmentsToShow
	}
	list, err := look(r)
	if err != nil {
		return content{}, err
	}
	slices.SortStableFunc(list, func(a, b view.AttachmentRow) int {
		return cmp.Or(cmp.Compare(plight(a), plight(b)), cmp.Compare(a.Name, b.Name))
	})
	d := attachmentsData{More: max(0, len(list)-attachmentsMost)}
	for _, a := range list[:len(list)-d.More] {
		t := attachedTable{a, r.now}
		d.Tables = append(d.Tables, t)
		if plight(a) < well {
			d.Troubled = append(d.Troubled, t)
		}
	}
	return content{Title: "Attachments", Template: "attachments", Data: d}, nil
}

// The plights of an attachment, in the order of the page.
const (
	broken  = iota // no row runs
	partly         // some rows do not run
	stopped        // the pool is 0
	well
	ending // it is detached
)

func plight(a view.AttachmentRow) int {
	switch {
	case a.State == "broken":
		return broken
	case a.Trouble != nil:
		return partly
	case a.State == "detached":
		return ending
	case a.Pool == 0:
		return stopped
	}
	return well
}

// Says is why rows of the table do not run.
func (t attachedTable) Says() string {
	if t.Trouble != nil {
		return *t.Trouble
	}
	return "Its pool is 0: none of its rows starts."
}

// ToType is the command that changes this; empty: there is none.
func (t attachedTable) ToType() string {
	switch {
	case t.Next != nil:
		return *t.Next
	case plight(t.AttachmentRow) == stopped:
		return "bellhop attach " + t.ShellTable() + " --pool 4"
	}
	return ""
}

// Since is when its state began, if a page is to tell that.
func (t attachedTable) Since() *time.Time {
	if plight(t.AttachmentRow) == broken {
		return &t.StateSince
	}
	return nil
}

// Counted is when its waiting rows were counted, if that is some time ago. While turns are taken they are counted anew.
func (t attachedTable) Counted() *time.Time {
	if t.WaitingAt != nil && t.now.Sub(*t.WaitingAt) > 15*time.Second {
		return t.WaitingAt
	}
	return nil
}

// Retried is the filter of its failed jobs, for a form.
func (t attachedTable) Retried() []filterPart {
	u, _ := url.Parse(t.Jobs(scheduler.Failed, scheduler.Quarantined)) // it was made here
	var parts []filterPart
	for _, name := range []string{"key", "type", "state"} {
		for _, value := range u.Query()[name] {
			parts = append(parts, filterPart{name, value})
		}
	}
	return parts
}

// attachedBar is how much of a table is done, has failed, and waits, on a width of 1000.
type attachedBar struct {
	Done, Failed float64
	Says         string
}

// Bar is how far its rows are; nil: it has none.
func (t attachedTable) Bar() *attachedBar {
	waits := int64(t.Ahead + t.Running)
	if t.Waiting != nil {
		waits += int64(*t.Waiting)
	}
	all := t.Done + t.AttachmentRow.Failed + waits
	if all == 0 {
		return nil
	}
	part := func(n int64) float64 { return math.Round(float64(n) / float64(all) * 1000) }
	failed := t.AttachmentRow.Failed
	return &attachedBar{
		Done:   part(t.Done),
		Failed: max(part(failed), float64(min(failed, 1)*4)), // one is seen
		Says:   words.Grouped(t.Done) + " done, " + words.Grouped(failed) + " failed, " + words.Grouped(waits) + " left",
	}
}

// Waits is how many rows wait, for people.
func (t attachedTable) Waits() string {
	if t.Waiting == nil || t.More != nil && *t.More {
		return t.WaitingText()
	}
	return words.Grouped(int64(*t.Waiting))
}

// Rest is how long the rows that are left will take at the present rate; empty: that is not known.
func (t attachedTable) Rest() string {
	if t.Rate == nil || *t.Rate <= 0 || t.Waiting == nil || t.More != nil && *t.More || plight(t.AttachmentRow) != well {
		return ""
	}
	left := *t.Waiting + t.Ahead + t.Running
	if left == 0 {
		return ""
	}
	return "done in about " + words.Lasting(float64(left) / *t.Rate)
}

// Jobs is the address of the list of its rows' jobs in some states; none: of those that are not over, or failed.
func (t attachedTable) Jobs(states ...scheduler.JobState) string {
	typ := scheduler.TypeName("attachment")
	if t.Type != nil {
		typ = scheduler.TypeName(*t.Type)
	}
	q := url.Values{"key": {t.Name + "/"}, "type": {typeWord(typ)}}
	for _, s := range states {
		q.Add("state", string(s))
	}
	return "/jobs?" + q.Encode()
}

// The states of jobs behind each number. Places are taken by jobs that may start, too.
func (t attachedTable) AheadJobs() string { return t.Jobs(scheduler.Blocked) }
func (t attachedTable) PlacedJobs() string {
	return t.Jobs(scheduler.Ready, scheduler.Scheduled, scheduler.Assigned, scheduler.Running)
}
func (t attachedTable) DoneJobs() string { return t.Jobs(scheduler.Succeeded) }
func (t attachedTable) FailedJobs() string {
	return t.Jobs(scheduler.Failed, scheduler.Cancelled, scheduler.Quarantined)
}
