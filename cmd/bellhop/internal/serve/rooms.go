package serve

import (
	"context"
	"log/slog"
	"time"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/config"
	"bellhop/sql/view"
	"bellhop/web"
	"bellhop/web/api"
	"bellhop/web/operation"
	"bellhop/web/page"
)

// openRooms opens what the site shows once there is a database, and gives what
// closes it. A room that is new has its line here.
func openRooms(
	site *web.Server, c config.Config, url string, i *Instance, log *slog.Logger,
) (closeRooms func(), err error) {
	visitors, err := view.NewVisitors(url)
	if err != nil {
		return nil, err
	}
	visitors.Actor = web.Actor
	worker := operation.NewWorker(visitors, log)
	i.operations.Store(worker)
	working, end := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		worker.Run(working)
	}()
	hub := api.NewHub(visitors, log)
	i.telemetry.hub.Store(hub)
	mux := web.NewMux()
	mux.Mount("/api/v1/", api.New(api.Config{
		Visitors: visitors, Version: cli.Version(), TraceURL: c.Observability.TraceURL, Log: log,
		Operations: worker, Hub: hub,
	}))
	pages := page.New(page.Config{
		Visitors:   visitors,
		Version:    cli.Version(),
		Address:    site.At(""),
		TraceURL:   c.Observability.TraceURL,
		Operations: worker,
		Log:        log,
	})
	mux.Mount("/", pages)
	i.telemetry.pages.Store(pages)
	site.Open(mux, visitors, visitors)
	tellRoles(visitors, c, log)
	return func() {
		pages.Close() // what it still asks it asks the visitors
		end()
		<-ended
		hub.Close()
		visitors.Close()
	}, nil
}

// tellRoles warns of roles under which this login may not answer: callers with such a token are told so, and the
// log says what to grant.
func tellRoles(visitors *view.Visitors, c config.Config, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	roles := append([]string{web.Reader}, c.CallerRoles()...)
	missing, err := visitors.NotMine(ctx, roles)
	for _, m := range missing {
		next := "grant " + cli.Quoted(m.Role) + " to the scheduler's login; bellhop doctor shows the line"
		if !m.Exists {
			next = "bellhop install roles"
		}
		log.Warn("the web server cannot answer for a role", "role", m.Role, "next", next)
	}
	if err != nil {
		log.Debug("roles were not looked at", "error", err)
	}
}
