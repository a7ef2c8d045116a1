// Package page is the dashboard at /: pages that are rendered here, useful
// without any script, and kept current by one stream a tab where there is some.
// It asks sql/store in the name of the caller (web.CallerOf); rights are PostgreSQL's. Whatever a job, an agent or an
// error says is text, never markup.
//
// Each page is a file: a view, which reads rows and makes a value of them, and
// the template that shows that value. The same view serves the first request
// and what is sent later (live.go), so the two cannot differ.
package page

import (
	"bytes"
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"html/template"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"

	"bellhop/scheduler"
	"bellhop/sql/view"
	"bellhop/verb"
	"bellhop/web"
)

//go:embed templates/*.html
var templates embed.FS

//go:embed static/*
var static embed.FS

// Visitors answers statements under a role.
type Visitors interface {
	As(ctx context.Context, role string, fn func(view.Look) error) error
	ReadAs(ctx context.Context, role string, fn func(view.Look) error) error
}

// Config is what the pages are made of.
type Config struct {
	Visitors Visitors
	Version  string // of the program
	Address  string // of this site, as a command names it: http://host:port
	TraceURL string // where a collector shows a trace: {trace_id} stands for it; empty: nowhere
	// Operations carries out what is ordered for many jobs; nil: others do.
	Operations interface{ Wake() }
	Log        *slog.Logger
}

// Pages answers requests for pages. Close ends its streams.
type Pages struct {
	Config
	*web.Mux
	html   *template.Template
	form   string // stands in rendered pages in the place of a form's token: it cannot be guessed
	root   string // the same before each path: web.Link says what goes there
	hub    *hub
	away   away
	recent recent
}

// New makes the pages.
func New(c Config) *Pages {
	p := &Pages{Config: c, Mux: web.NewMux(), form: rand.Text(), root: rand.Text()}
	p.html = template.Must(template.New("").Funcs(p.funcs()).ParseFS(templates, "templates/*.html"))
	p.hub = newHub(p)
	p.Route("GET /", web.Known, p.show) // a view asks for its rights first
	p.Route("GET /live", web.Known, p.live)
	p.Route("GET /find", web.Known, p.search)
	p.Route("GET /static/", web.Known, serveStatic)
	p.Route("GET /favicon.ico", web.Known, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, asset("bell.svg"), http.StatusMovedPermanently)
	})
	for name, v := range verbs {
		p.Route("POST /do/"+name, right(v), func(w http.ResponseWriter, r *http.Request) { p.do(w, r, v) })
	}
	p.Route("POST /do/", web.Known, func(w http.ResponseWriter, r *http.Request) { p.noOrder(w, r) })
	return p
}

// Close ends every stream.
func (p *Pages) Close() { p.hub.close() }

// Watched reports whether there are viewers; otherwise nothing need be gathered.
func (p *Pages) Watched() bool { return p.hub.count.Load() > 0 }

// Happened is told of jobs of which something changed here. It never blocks, and costs a glance if there are no
// viewers.
func (p *Pages) Happened(jobs []scheduler.JobID) {
	p.recent.changes.Add(1)
	p.hub.happened(jobs)
}

// request is what a view is asked.
type request struct {
	context.Context
	view.Look
	pages *Pages
	who   web.Identity
	may   view.May
	query url.Values
	arg   string // what stands in the path behind the page's name
	now   time.Time
}

// content is what a view answers with.
type content struct {
	Title    string
	Template string
	Data     any
	Status   int    // 0: 200
	Type     string // of Raw
	Raw      []byte // a whole answer that is no page
}

// errNotFound: there is no such page, or nothing of that name.
var errNotFound = errors.New("there is no such page")

// frame is what stands around a page.
type frame struct {
	Title, Nav, Path, Version string
	Who                       web.Identity
	May                       view.May
	Main                      template.HTML
	At                        time.Time
	Live                      bool
	Pages                     []route
	Away, Said                string
	Mend                      int // findings that need mending
}

// render asks a page's view and gives its inside.
func (p *Pages) render(
	ctx context.Context, who web.Identity, at string,
) (c content, r route, main string, may view.May, err error) {
	u, err := url.Parse(at)
	if err != nil || !strings.HasPrefix(at, "/") {
		return c, r, "", may, errNotFound
	}
	r, arg, ok := find(u.EscapedPath())
	if !ok || strings.ContainsRune(arg, 0) || !utf8.ValidString(arg) {
		return c, r, "", may, errNotFound
	}
	err = p.Visitors.ReadAs(ctx, who.Role, func(l view.Look) (err error) {
		if may, err = p.may(ctx, who.Role, l); err != nil {
			return err
		}
		c, err = r.view(
			&request{
				Context: ctx,
				Look:    l,
				pages:   p,
				who:     who,
				may:     may,
				query:   sane(u.Query()),
				arg:     arg,
				now:     time.Now(),
			},
		)
		return err
	})
	if err != nil || c.Raw != nil {
		return c, r, "", may, err
	}
	var b bytes.Buffer
	err = p.html.ExecuteTemplate(&b, c.Template, map[string]any{"May": may, "Data": c.Data, "At": at})
	return c, r, b.String(), may, err
}

// sane leaves out what no text of the database can hold.
func sane(values url.Values) url.Values {
	for _, list := range values {
		for i, v := range list {
			list[i] = strings.ReplaceAll(strings.ToValidUTF8(v, "\uFFFD"), "\x00", "\uFFFD")
		}
	}
	return values
}

// show answers a page.
func (p *Pages) show(w http.ResponseWriter, r *http.Request) {
	who := web.CallerOf(r.Context())
	at := r.URL.RequestURI()
	c, page, main, may, err := p.render(r.Context(), who, at)
	f := frame{
		Title:   c.Title,
		Nav:     page.Name,
		Path:    r.URL.Path,
		Version: p.Version,
		Who:     who,
		May:     may,
		At:      time.Now(),
		Pages:   offered(may, err),
		Live:    err == nil && page.Cost > 0,
	}
	if may.Reads {
		f.Mend = p.toMend(who.Role)
	}
	status := c.Status
	if err != nil {
		status, f.Title, main, f.Away = p.trouble(r.Context(), err)
		if status == http.StatusServiceUnavailable {
			w.Header().Set("Refresh", "5")
		}
	} else {
		p.away.back()
	}
	if c.Raw != nil {
		w.Header().Set("Content-Type", c.Type)
		_, _ = w.Write(c.Raw) // the client may have gone
		return
	}
	f.Said = did(r.URL.Query())
	p.write(w, r, status, f, main)
}

// write answers with a page.
func (p *Pages) write(w http.ResponseWriter, r *http.Request, status int, f frame, main string) {
	f.Main = template.HTML(main)
	var b bytes.Buffer
	if err := p.html.ExecuteTemplate(&b, "frame", f); err != nil {
		p.Log.Error("a page cannot be shown", "page", f.Path, "error", err)
		http.Error(w, "this page cannot be shown: the log of the instance says why", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if status != 0 {
		w.WriteHeader(status)
	}
	_, _ = w.Write(p.signed(r.Context(), b.Bytes())) // the client may have gone
}

// signed puts the caller's token into the forms, and the caller's prefix before each path.
func (p *Pages) signed(ctx context.Context, page []byte) []byte {
	page = bytes.ReplaceAll(page, []byte(p.root), []byte(template.HTMLEscapeString(web.Link(ctx, ""))))
	return bytes.ReplaceAll(page, []byte(p.form), []byte(template.HTMLEscapeString(web.CallerOf(ctx).Form)))
}

// trouble says in a page what went wrong.
func (p *Pages) trouble(ctx context.Context, err error) (status int, title, main, gone string) {
	var said *pgconn.PgError
	var notMine *view.NotMember
	var unreachable *scheduler.Unreachable
	var missing *verb.Missing
	type words struct{ Title, Says, Next string }
	var s words
	switch {
	case errors.Is(err, errNotFound), errors.As(err, &missing):
		status, s = http.StatusNotFound, words{
			"Not found",
			"There is no such page, or nothing of that name any more.",
			"",
		}
	case errors.As(err, &said) && said.Code == "42501":
		status, s = http.StatusForbidden, words{"Not allowed",
			"The role of this page may not see this: " + said.Message + ".", "bellhop ui   opens it with the rights of your login"}
	case errors.As(err, &said) && said.Code == "57014":
		status, s = http.StatusServiceUnavailable, words{
			"Too slow",
			"The database took too long for this page.",
			"bellhop doctor",
		}
	case errors.As(err, &said) && !errors.As(err, &unreachable) &&
		!strings.HasPrefix(said.Code, "57P") && !strings.HasPrefix(said.Code, "08"):
		p.Log.Error("a page's statement was refused", "error", err)
		status, s = http.StatusInternalServerError, words{"The database refuses", said.Message, "bellhop doctor"}
	case ctx.Err() != nil:
		status, s = http.StatusServiceUnavailable, words{"Interrupted", "The request was ended.", ""}
	case errors.As(err, &notMine):
		status, s = http.StatusForbidden, words{"Not allowed", notMine.Error(), "bellhop doctor"}
	case !lost(err):
		p.Log.Error("a page cannot be made", "error", err)
		status, s = http.StatusInternalServerError, words{
			"This page cannot be shown",
			"The log of the instance says why.",
			"",
		}
	default:
		gone = p.away.since(time.Now())
		status, s = http.StatusServiceUnavailable, words{
			"No database",
			"The database does not answer. " + gone + " This page tries again.",
			"bellhop doctor",
		}
	}
	var b bytes.Buffer
	if err := p.html.ExecuteTemplate(&b, "trouble", map[string]any{"Data": s}); err != nil {
		return status, s.Title, "", gone
	}
	return status, s.Title, b.String(), gone
}

// lost reports whether an error says no more than that the database is out of reach.
func lost(err error) bool {
	var unreachable *scheduler.Unreachable
	var connecting *pgconn.ConnectError
	var said *pgconn.PgError
	var net net.Error
	return errors.As(err, &unreachable) || errors.As(err, &connecting) || errors.As(err, &said) || errors.As(err, &net) ||
		errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) ||
		pgconn.Timeout(err) ||
		strings.Contains(err.Error(), "conn closed")
}

// away knows since when the database has not answered.
type away struct {
	mu sync.Mutex
	at time.Time
}

func (a *away) back() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.at = time.Time{}
}

func (a *away) since(now time.Time) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.at.IsZero() {
		a.at = now
	}
	return "It has not answered since " + a.at.Format("15:04:05") + "."
}
