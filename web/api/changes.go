package api

import (
	"context"
	"net/http"
	"strings"

	"bellhop/sql/view"
)

// changes is the route of what callers have changed.
func (a *API) changes() {
	type list struct {
		Limit  int    `query:"limit"  minimum:"1" maximum:"200" default:"50"`
		Before int64  `query:"before" minimum:"0" doc:"Changes older than this id"`
		By     string `query:"by" maxLength:"200" doc:"Name of the person, token or database login"`
		Of     string `query:"of" maxLength:"600" pattern:"^$|^[a-z]+ .+$" doc:"The changed thing, such as: job 42"`
	}
	const summary = "List changes by people, tokens and database logins, the newest first"
	read(a, operation(http.MethodGet, "/changes", reader, "changes", summary),
		func(ctx context.Context, l view.Look, in *list) ([]view.ChangeRow, error) {
			f := view.ChangeFilter{Before: in.Before, By: in.By}
			f.Thing, f.Name, _ = strings.Cut(in.Of, " ")
			return l.Changes(ctx, f, in.Limit)
		})
}
