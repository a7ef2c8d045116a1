package page

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"bellhop/scheduler"
	"bellhop/scheduler/words"
	"bellhop/sql/view"
	"bellhop/verb"
	"bellhop/web"
)

// actMost is how many jobs one transaction changes; more are taken by several.
const actMost = 1000

// verbs are what a form may order.
var verbs = func() map[string]verb.Verb {
	all := map[string]verb.Verb{}
	for _, v := range verb.All {
		if v.NoPage == "" {
			all[v.Name] = v
		}
	}
	return all
}()

// inputs read from a form what a verb needs besides the thing that it is done to.
var inputs = map[string]func(url.Values, *verb.In) error{
	"priority": priorityIn, "again": againIn, "prune": pruneIn, "plan": planIn, "rule": ruleIn,
	"revert": func(form url.Values, in *verb.In) (err error) {
		if in.Back, err = strconv.Atoi(form.Get("version")); err != nil {
			return errNotFound
		}
		return nil
	},
}

// right is what an order asks for: a submitter has jobs of its own.
func right(v verb.Verb) web.Right {
	if v.By == verb.Owner {
		return web.Submits
	}
	return web.Operates
}

// unfit says what cannot be right in the user's input.
type unfit struct{ title, says string }

func (u unfit) Error() string { return u.says }

// priorityOf is the number, or the word for one, that was typed.
func priorityOf(form url.Values) (int, error) {
	n, err := words.ParsePriority(strings.TrimSpace(form.Get("priority")))
	if err != nil {
		return 0, unfit{"The priority is not valid", err.Error()}
	}
	return n, nil
}

func priorityIn(form url.Values, in *verb.In) error {
	n, err := priorityOf(form)
	in.Edit.Priority = &n
	return err
}

// ordered reads an order from a form.
func ordered(v verb.Verb, form url.Values) (in verb.In, err error) {
	switch word := form.Get(v.To.Word); {
	case v.To == verb.Job:
		in.Jobs = meant(form)
	case v.To == verb.Workflow:
		in.Name = word
	case v.To == verb.Type:
		if t := typeOf(form); t != nil {
			in.Name = string(*t)
		}
	case v.Name != "plan" && (v.Name != "rule" || word != ""): // those make one
		if in.ID, err = strconv.ParseInt(word, 10, 64); err != nil || in.ID <= 0 {
			return in, errNotFound
		}
	}
	if read := inputs[v.Name]; read != nil {
		err = read(form, &in)
	}
	return in, err
}

func typeOf(form url.Values) *scheduler.TypeName {
	if name, err := url.QueryUnescape(form.Get("type")); err == nil && name != "" {
		t := scheduler.TypeName(name)
		return &t
	}
	return nil
}

// do carries out what a form orders, and leads back to its page.
func (p *Pages) do(w http.ResponseWriter, r *http.Request, v verb.Verb) {
	if err := r.ParseForm(); err != nil {
		p.noOrder(w, r)
		return
	}
	sane(r.PostForm)
	in, err := ordered(v, r.PostForm)
	n, to, ids := 0, r.PostForm.Get("back"), in.Jobs
	piecewise := v.To == verb.Job && v.Name != "prune"
	for began, more := time.Now(), !piecewise || len(ids) > 0; more && err == nil; {
		in.Jobs, ids = ids[:min(len(ids), actMost)], ids[min(len(ids), actMost):]
		var out verb.Out
		err = p.Visitors.As(r.Context(), web.CallerOf(r.Context()).Role, func(l view.Look) (err error) {
			out, err = v.Do(r.Context(), l, in)
			return err
		})
		n, more = n+out.N, len(ids) > 0
		if out.Past != nil && time.Since(began) < pruneLong {
			in.Past, more = *out.Past, true
		}
		if v.Name == "plan" {
			to = "/operations/" + strconv.FormatInt(out.ID, 10)
		}
	}
	if err != nil {
		p.failed(w, r, err)
		return
	}
	p.recent.changes.Add(1)
	p.recent.fleetChanged()
	if p.Operations != nil && r.PostForm.Has("operation") {
		p.Operations.Wake()
	}
	back, err := url.Parse(to)
	if err != nil || back.Host != "" || back.Scheme != "" || !strings.HasPrefix(back.Path, "/") ||
		strings.HasPrefix(back.Path, "//") || strings.Contains(back.Path, `\`) {
		back = &url.URL{Path: "/"}
	}
	q := back.Query()
	q.Set("did", v.Name)
	if v.To != verb.Job {
		n = 1
	}
	q.Set("n", strconv.Itoa(n))
	back.RawQuery = q.Encode()
	http.Redirect(w, r, back.RequestURI(), http.StatusSeeOther)
}

func (p *Pages) noOrder(w http.ResponseWriter, r *http.Request) {
	p.refuse(w, r, http.StatusBadRequest, "No such order", "This form is not valid, or too large.", "")
}

// meant are the jobs that a form names: a line may stand for several.
func meant(form url.Values) (ids []scheduler.JobID) {
	for _, text := range strings.Fields(strings.Join(form["id"], " ")) {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && n > 0 {
			ids = append(ids, scheduler.JobID(n))
		}
	}
	return ids
}

// did is what the order before this page came to, in words.
func did(q url.Values) string {
	v, ok := verbs[q.Get("did")]
	n, err := strconv.Atoi(q.Get("n"))
	switch {
	case !ok || err != nil:
		return ""
	case v.To != verb.Job:
		return "Done: " + v.Done + "."
	case n == 0:
		return "Nothing was changed: its present state does not allow it."
	case n == 1:
		return "1 job was " + v.Done + "."
	}
	return strconv.Itoa(n) + " jobs were " + v.Done + "."
}

func (p *Pages) failed(w http.ResponseWriter, r *http.Request, err error) {
	var said *pgconn.PgError
	var unreachable *scheduler.Unreachable
	var wrong unfit
	switch {
	case errors.As(err, &wrong):
		p.refuse(w, r, http.StatusBadRequest, wrong.title, wrong.says, "")
		return
	case errors.As(err, &said) && !errors.As(err, &unreachable) &&
		(said.Code == "55000" || said.Code[:2] == "22" || said.Code[:2] == "23"):
		p.refuse(w, r, http.StatusConflict, "That cannot be done", said.Message, said.Hint)
		return
	}
	status, title, main, gone := p.trouble(r.Context(), err)
	p.around(w, r, status, title, main, gone)
}

func (p *Pages) refuse(w http.ResponseWriter, r *http.Request, status int, title, says, next string) {
	var b strings.Builder
	_ = p.html.ExecuteTemplate(
		&b,
		"trouble",
		map[string]any{"Data": map[string]string{"Title": title, "Says": says, "Next": next}},
	)
	p.around(w, r, status, title, b.String(), "")
}

// around answers with a page that is no view's.
func (p *Pages) around(w http.ResponseWriter, r *http.Request, status int, title, main, gone string) {
	p.write(
		w,
		r,
		status,
		frame{Title: title, Path: r.URL.Path, Version: p.Version, Who: web.CallerOf(r.Context()), At: time.Now(),
			Pages: routes, Away: gone},
		main,
	)
}
