package page

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"bellhop/scheduler"
	"bellhop/sql/view"
	"bellhop/web"
)

// search leads from the words of the search field to what they name.
func (p *Pages) search(w http.ResponseWriter, r *http.Request) {
	who := web.CallerOf(r.Context())
	words := strings.TrimSpace(sane(r.URL.Query()).Get("q"))
	to := "/jobs"
	if words != "" {
		err := p.Visitors.ReadAs(r.Context(), who.Role, func(l view.Look) (err error) {
			may, err := p.may(r.Context(), who.Role, l)
			if err != nil {
				return err
			}
			to, err = addressOf(r.Context(), &request{Context: r.Context(), Look: l, pages: p, who: who, may: may}, words)
			return err
		})
		if err != nil {
			p.failed(w, r, err)
			return
		}
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// addressOf is the address of what some words name: a job by its number or key, a type, a workflow, or else the list of
// the jobs whose keys begin like this.
func addressOf(ctx context.Context, r *request, text string) (string, error) {
	var ids []scheduler.JobID
	if n, err := strconv.ParseInt(strings.TrimPrefix(text, "#"), 10, 64); err == nil && n > 0 {
		ids = append(ids, scheduler.JobID(n))
	}
	found, err := r.Look.Find(ctx, ids, []string{text})
	if err != nil {
		return "", err
	}
	for _, f := range found { // a key goes before a number: a number can be written with #
		if f.Key != nil && *f.Key == text {
			return "/jobs/" + strconv.FormatInt(int64(f.ID), 10), nil
		}
	}
	if len(found) > 0 {
		return "/jobs/" + strconv.FormatInt(int64(found[0].ID), 10), nil
	}
	if r.may.Reads {
		to, err := addressElse(ctx, r, text)
		if to != "" || err != nil {
			return to, err
		}
	}
	return "/jobs?" + url.Values{"key": {text}}.Encode(), nil
}

// addressElse is the address of a type or a workflow; empty: there is none of that name.
func addressElse(ctx context.Context, r *request, text string) (string, error) {
	served, err := r.types()
	if err != nil {
		return "", err
	}
	if slices.Contains(served, scheduler.TypeName(text)) {
		return "/types/" + url.PathEscape(text), nil
	}
	list, err := r.Look.Workflows(ctx, view.WorkflowFilter{Names: view.Exactly(text)})
	if err == nil && len(list) > 0 {
		return "/workflows/" + url.PathEscape(text), nil
	}
	if err != nil {
		return "", err
	}
	waiting, err := r.Look.Waits(ctx)
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(waiting, func(w view.WaitRow) bool { return string(w.Type) == text }) {
		return "/types/" + url.PathEscape(text), nil
	}
	return "", nil
}
