package page

import (
	"slices"
	"strings"
	"time"

	"bellhop/scheduler"
	"bellhop/scheduler/words"
	"bellhop/sql/view"
)

// elsewhere are the codes of reasons that another part of the page tells at length: its timeline and its log.
var elsewhere = []string{"succeeded", "ran_on", "last_words"}

// tellOnce leaves out the reasons that another part of the page tells.
func (d *jobData) tellOnce() {
	d.Reasons = slices.DeleteFunc(d.Reasons, func(r view.ReasonRow) bool {
		return slices.Contains(elsewhere, r.Code) && (r.Code != "last_words" || len(d.Log.Lines) > 0)
	})
	said := words.Text(d.Error)
	if said == "" {
		return
	}
	for i := range d.Bars {
		d.Bars[i].Told = said
	}
	d.Reasons = slices.DeleteFunc(d.Reasons, func(r view.ReasonRow) bool {
		return r.Code == "agent_failed" && strings.Contains(r.Sentence, said)
	})
	for i := range d.Reasons {
		if r := &d.Reasons[i]; len(said) < len(r.Sentence) {
			r.Sentence = strings.NewReplacer(": "+said+".", ".", ": "+said, ".").Replace(r.Sentence)
		}
	}
}

// alike counts the jobs of the last day that failed with the same words.
func (d *jobData) alike(r *request) error {
	if !r.may.Reads || d.NotRun || words.Text(d.Error) == "" || d.EndedAt == nil || r.now.Sub(*d.EndedAt) > alikeWithin ||
		d.State != scheduler.Failed && d.State != scheduler.Quarantined {
		return nil
	}
	rows, err := remembered(r.pages, r.who.Role, "failures of a day", 30*time.Second, func() ([]view.FailedRow, error) {
		return r.failedSince(lookBack, view.Span{Since: alikeWithin}, time.Second)
	})
	if err != nil {
		return err
	}
	i := slices.IndexFunc(rows, func(f view.FailedRow) bool { return slices.Contains(f.Jobs, d.ID) })
	if i < 0 {
		return nil
	}
	n := 0
	for _, f := range rows {
		if f.Masked == rows[i].Masked {
			n += len(f.Jobs)
		}
	}
	if n > 1 {
		d.Alike = n
	}
	return nil
}

// alikeWithin is lookBack.
const alikeWithin = 24 * time.Hour

// AlikeAt is the page that has them as one row.
func (d jobData) AlikeAt() string { return "/failures?since=" + lookBack }

// Over reports whether it has ended.
func (d jobData) Over() bool { return d.State.Final() }

// Ended is when it ended.
func (d jobData) Ended() *time.Time {
	if d.State.Final() {
		return d.EndedAt
	}
	return nil
}
