package web

import (
	"context"
	"encoding/json"
	"html/template"
	"maps"
	"net/http"
	"strings"
)

// Problem is an error as it is answered (RFC 9457), with a code that stays the
// same, and what to type next.
type Problem struct {
	Title  string `json:"title"  doc:"What the status means"`
	Status int    `json:"status" doc:"The HTTP status"`
	Code   string `json:"code"   doc:"The kind of problem, in a stable word"`
	Detail string `json:"detail" doc:"The problem and its cause"`
	Next   string `json:"next"   doc:"A command to type, or what to change; may be empty"`
}

func (p *Problem) Error() string { return p.Detail }

// GetStatus and ContentType are what huma asks of an error.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType is that of RFC 9457.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// What the door itself says more than once.
var (
	starting = Problem{Status: http.StatusServiceUnavailable, Code: "starting",
		Detail: "the instance is still starting", Next: "bellhop ready"}
	noDatabase = Problem{Status: http.StatusServiceUnavailable, Code: "no_database",
		Detail: "the database did not answer", Next: "bellhop doctor"}
)

// againIn is the delay in seconds until a caller that was refused for now may ask again. An instance looks for a
// lost database about as often, and waits and streams go on for as long.
const againIn = "5"

// GetHeaders is what huma sends with an error: what is refused for now says when to ask again.
func (p *Problem) GetHeaders() http.Header {
	if p.Status != http.StatusServiceUnavailable && p.Status != http.StatusTooManyRequests {
		return nil
	}
	return http.Header{"Retry-After": {againIn}}
}

// plainPage is what the door itself says to browsers, before there are pages. The style is that of the pages
// (package page); without the right to fetch it, the text reads the same.
var plainPage = template.Must(template.New("").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
{{with .To}}<meta http-equiv="refresh" content="0;url={{$.Root}}{{.}}">{{end}}
<title>{{.Title}} · bellhop</title><link rel="stylesheet" href="{{.Root}}/static/style.css"></head>
<body><main id="main"><h1>{{.Title}}</h1><p>{{.Detail}}</p>
{{with .Next}}<p><code>{{.}}</code></p>{{end}}<p><a href="{{.Root}}/">Overview</a></p></main></body></html>
`))

// sayPlainly answers with a page, and leads to a path of this site at once where one is named.
func sayPlainly(w http.ResponseWriter, r *http.Request, p Problem, to string) {
	_ = plainPage.Execute(w, struct { // the client may have gone
		Problem
		Root, To string
	}{p, Link(r.Context(), ""), to})
}

// Under is the problem for the client of this context's request: the paths of the API in what to type next are
// those under which that client asks for them.
func (p Problem) Under(ctx context.Context) Problem {
	p.Next = strings.ReplaceAll(p.Next, "/api/v1/", Link(ctx, "/api/v1/"))
	return p
}

// Refuse answers with a problem: to people's browsers with a page, to other programs in a line of text where it is not
// of the API.
func Refuse(w http.ResponseWriter, r *http.Request, p Problem) {
	p.Title = http.StatusText(p.Status)
	p = p.Under(r.Context())
	h := w.Header()
	maps.Copy(h, p.GetHeaders())
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="bellhop"`)
	}
	if !strings.HasPrefix(r.URL.Path, "/api/") {
		if strings.Contains(r.Header.Get("Accept"), "text/html") {
			h.Set("Content-Type", "text/html; charset=utf-8")
			w.WriteHeader(p.Status)
			sayPlainly(w, r, p, "")
			return
		}
		text := p.Detail
		if p.Next != "" {
			text += "\n  " + p.Next
		}
		http.Error(w, text, p.Status)
		return
	}
	h.Set("Content-Type", p.ContentType(""))
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // the client may have gone
}

// At is the same problem, with the words of where it is in front.
func (p *Problem) At(where string) error {
	at := *p
	at.Detail = where + p.Detail
	return &at
}
