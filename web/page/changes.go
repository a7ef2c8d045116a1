package page

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"bellhop/sql/view"
)

// changesMost is how many changes a page lists.
const changesMost = 100

type changesData struct {
	Changes       []changeRow
	By, Of        string
	Thing         string // that Of means, as the command takes it; empty: all
	Older, Newest string // queries; empty: there is none
}

// changeRow is a change with what a page says of it besides.
type changeRow struct{ view.ChangeRow }

// changes lists what people, tokens and database logins have changed.
func changes(r *request) (content, error) {
	d := changesData{By: strings.TrimSpace(r.query.Get("by")), Of: strings.Join(strings.Fields(r.query.Get("of")), " ")}
	f := view.ChangeFilter{By: d.By}
	f.Thing, f.Name, _ = strings.Cut(strings.TrimPrefix(d.Of, "#"), " ")
	if id, is := strings.CutPrefix(d.Of, "#"); is || f.Name == "" && f.Thing != "" {
		f.Thing, f.Name = "job", id // a number alone is a job's
	}
	if f.Thing != "" {
		d.Thing = f.Thing + " " + f.Name
	}
	query := url.Values{}
	for name, value := range map[string]string{"by": d.By, "of": d.Of} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if n, err := strconv.ParseInt(r.query.Get("before"), 10, 64); err == nil && n > 0 {
		f.Before, d.Newest = n, "?"+query.Encode()
	}
	list, err := r.Look.Changes(r, f, changesMost+1)
	if err != nil {
		return content{}, err
	}
	for _, c := range list[:min(len(list), changesMost)] {
		d.Changes = append(d.Changes, changeRow{c})
	}
	if len(list) > changesMost {
		query.Set("before", strconv.FormatInt(list[changesMost-1].ID, 10))
		d.Older = "?" + query.Encode()
	}
	return content{Title: "Changes", Template: "changes", Data: d}, nil
}

// When is for templates.
func (c changeRow) When() *time.Time { return &c.At }

// Identified says how the caller was identified.
func (c changeRow) Identified() string {
	switch c.Via {
	case "login", "session":
		return "database login"
	case "oidc":
		return "person"
	}
	return c.Via
}

// Path is the page of the thing; empty: it has none of its own.
func (c changeRow) Path() string {
	if c.Name == nil {
		return ""
	}
	switch c.Thing {
	case "job", "operation", "workflow", "run":
		return "/" + c.Thing + "s/" + url.PathEscape(*c.Name)
	}
	return ""
}
