// Package web is what `serve` answers over HTTP: health, metrics, and the door
// of everything else. It decides nothing about jobs, and knows no SQL. Behind the
// door stand rooms (web/api; the pages), each an http.Handler that is opened
// when there is a database:
//
//	site, err := web.Listen(web.Config{Listen: addr, Tokens: tokens, …})
//	site.Open(mux, visitors, visitors)       // sessions and rights: sql/store's Visitors
//
// What a room may rely on, in every request that it is given:
//
//   - caller := web.CallerOf(r.Context()) is the caller. caller.Role is the role of
//     PostgreSQL under which all statements of the request run:
//
//     err := visitors.As(ctx, caller.Role, func(l store.Look) error { … })
//
//     is one transaction under SET LOCAL ROLE and a statement_timeout, read-only
//     with ReadAs. Rights are PostgreSQL's: what the role may not do comes back
//     as SQLSTATE 42501. Nothing asks for rights in Go.
//
//   - The role has the right that the route names (Mux.Route), and nothing of the body was
//     read before that was known.
//
//   - The Host was on the list, and a request that changes something did not come
//     from another site (http.CrossOriginProtection).
//
//   - A caller signed in by a cookie (caller.Form != "") has sent caller.Form with each
//     request that changes something: as the form's field "form_token", or in the
//     header X-Form-Token. A page puts it into each of its forms.
//
//   - r.URL.Path is a path of this site, whatever the prefix under which people ask (Behind): what a room says of
//     addresses it makes by Link. Where a redirect leads, the door puts the prefix before it.
//
//   - The body is bounded (BodyMost), reading and writing end
//     after Patience. An answer that goes on is a Stream, or calls web.Unhurried(w) first and ends with web.Until.
//
//   - Headers are set: a Content-Security-Policy with nothing inline, and no-store. A
//     room may overwrite Cache-Control of what never changes.
//
// `bellhop ui` asks the database for a one-time link, as the login of its own; GET
// /login/SECRET makes a session of it. POST /logout ends that.
package web
