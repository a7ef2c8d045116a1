package page

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"bellhop/scheduler"
	"bellhop/scheduler/words"
	"bellhop/sql/store"
	"bellhop/web"
)

// actMost is how many jobs one transaction changes; more are taken by several.
const actMost = 1000

// verb is what a form may order: with jobs, or by itself.
type verb struct {
	Says string // what is said afterwards, of so many jobs
	jobs func(context.Context, store.Look, []scheduler.JobID, url.Values) (int, error)
	one  func(context.Context, store.Look, url.Values) error
	// some orders a part of something with what is behind an id, and says behind which the rest is.
	some func(ctx context.Context, l store.Look, form url.Values, past int64) (n int, next *int64, err error)
	// leads orders something that has a page of its own.
	leads func(context.Context, store.Look, url.Values) (string, error)
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

func changes(list []store.Change, err error) (int, error) {
	n := 0
	for _, c := range list {
		if c.Was != c.State || c.Was == "" {
			n++
		}
	}
	return n, err
}

// cancelled ends jobs that wait, and asks those that run to stop.
func cancelled(now bool) func(context.Context, store.Look, []scheduler.JobID, url.Values) (int, error) {
	return func(ctx context.Context, l store.Look, ids []scheduler.JobID, _ url.Values) (int, error) {
		list, err := l.CancelMany(ctx, ids, now)
		n := 0
		for _, c := range list {
			if c.Was != c.State || c.Asked() {
				n++
			}
		}
		return n, err
	}
}

var verbs = map[string]verb{
	"cancel": {Says: "cancelled, or asked to stop", jobs: cancelled(false)},
	"kill":   {Says: "cancelled, or is being killed", jobs: cancelled(true)},
	"retry": {Says: "to be tried again",
		jobs: func(ctx context.Context, l store.Look, ids []scheduler.JobID, _ url.Values) (int, error) {
			return changes(l.RetryMany(ctx, ids))
		}},
	"behind":  {Says: "to be tried again, those behind it included", jobs: behind},
	"again":   {Says: "to be tried again, with your changes", jobs: again},
	"hold":    {Says: "held", jobs: holds(true)},
	"release": {Says: "released", jobs: holds(false)},
	"priority": {Says: "given that priority",
		jobs: func(ctx context.Context, l store.Look, ids []scheduler.JobID, form url.Values) (int, error) {
			n, err := priorityOf(form)
			if err != nil {
				return 0, err
			}
			return edited(ctx, l, ids, store.Edit{Priority: &n}, store.Change.Waits)
		}},
	"pause": {Says: "paused", one: func(ctx context.Context, l store.Look, form url.Values) error {
		return l.Pause(ctx, typeOf(form))
	}},
	"resume": {Says: "resumed", one: func(ctx context.Context, l store.Look, form url.Values) error {
		_, _, err := l.Resume(ctx, typeOf(form))
		return err
	}},
	"prune":    {Says: "deleted", some: pruned},
	"shutdown": {Says: "it ends when its running jobs have ended", one: shutDown},
	"run": {Says: "a run was started", one: func(ctx context.Context, l store.Look, form url.Values) error {
		_, err := l.RunWorkflow(ctx, form.Get("workflow"), store.ByHand{})
		return err
	}},
	"rerun": {
		Says: "it goes on at the failed step",
		one: func(ctx context.Context, l store.Look, form url.Values) error {
			n, err := strconv.ParseInt(form.Get("run"), 10, 64)
			if err != nil {
				return errNotFound
			}
			_, err = l.RetryRun(ctx, n)
			return err
		},
	},
	"plan":       {Says: "planned; nothing has changed yet", leads: plan},
	"start":      {Says: "it is being carried out", one: operated(store.Look.StartOperation)},
	"stop":       {Says: "it stops after its current batch", one: operated(store.Look.StopOperation)},
	"undo":       {Says: "it is undone, except for jobs changed since", one: operated(store.Look.UndoOperation)},
	"rule":       {Says: "the rule holds from now on", one: ruled},
	"unrule":     {Says: "the rule is deleted; waiting messages are still sent", one: ofRule(ruleDeleted)},
	"ruletest":   {Says: "a test message goes to each recipient", one: ofRule(ruleTested)},
	"activate":   {Says: "activated", one: workflowChanged("activated")},
	"deactivate": {Says: "deactivated", one: workflowChanged("deactivated")},
	"revert":     {Says: "the older version is in force again", one: reverted},
}

// shutDown ends an instance when what it runs is over.
func shutDown(ctx context.Context, l store.Look, form url.Values) error {
	id, err := strconv.ParseInt(form.Get("instance"), 10, 64)
	if err != nil || id <= 0 {
		return errNotFound
	}
	args := "shutdown " + strconv.FormatInt(id, 10)
	_, err = l.Submit(ctx, store.Submission{Type: "command", Args: &args})
	return err
}

func workflowChanged(what string) func(context.Context, store.Look, url.Values) error {
	return func(ctx context.Context, l store.Look, form url.Values) error {
		_, err := l.ChangeWorkflow(ctx, form.Get("workflow"), what, nil)
		return err
	}
}

// reverted applies an older version of a workflow once more.
func reverted(ctx context.Context, l store.Look, form url.Values) error {
	n, err := strconv.Atoi(form.Get("version"))
	if err != nil {
		return errNotFound
	}
	d, ok, err := l.Version(ctx, form.Get("workflow"), n)
	if err == nil && !ok {
		err = errNotFound
	}
	if err == nil {
		_, err = l.ApplyWorkflow(ctx, d.Definition, nil)
	}
	return err
}

// edited changes jobs, and gives of how many it is done.
func edited(
	ctx context.Context, l store.Look, ids []scheduler.JobID, e store.Edit, done func(store.Change) bool,
) (n int, err error) {
	list, err := l.Edit(ctx, ids, e)
	for _, c := range list {
		if done(c) {
			n++
		}
	}
	return n, err
}

// holds holds jobs, or releases them.
func holds(hold bool) func(context.Context, store.Look, []scheduler.JobID, url.Values) (int, error) {
	return func(ctx context.Context, l store.Look, ids []scheduler.JobID, _ url.Values) (int, error) {
		return edited(ctx, l, ids, store.Edit{Hold: &hold}, func(c store.Change) bool {
			return c.Waits() && (c.Was == scheduler.Held) != hold && (c.State == scheduler.Held) == hold
		})
	}
}

func typeOf(form url.Values) *scheduler.TypeName {
	if name, err := url.QueryUnescape(form.Get("type")); err == nil && name != "" {
		t := scheduler.TypeName(name)
		return &t
	}
	return nil
}

// do carries out what a form orders, and leads back to its page.
func (p *Pages) do(w http.ResponseWriter, r *http.Request, name string, v verb) {
	if err := r.ParseForm(); err != nil {
		p.noOrder(w, r)
		return
	}
	who := web.CallerOf(r.Context())
	sane(r.PostForm)
	ids := meant(r.PostForm)
	var err error
	n, to := 0, r.PostForm.Get("back")
	if v.one != nil || v.leads != nil {
		err = p.Visitors.As(r.Context(), who.Role, func(l store.Look) (err error) {
			if v.one != nil {
				return v.one(r.Context(), l, r.PostForm)
			}
			to, err = v.leads(r.Context(), l, r.PostForm)
			return err
		})
		n = 1
	}
	past := new(int64)
	for began := time.Now(); v.some != nil && past != nil && err == nil && time.Since(began) < pruneLong; {
		err = p.Visitors.As(r.Context(), who.Role, func(l store.Look) error {
			did, next, err := v.some(r.Context(), l, r.PostForm, *past)
			n, past = n+did, next
			return err
		})
	}
	for len(ids) > 0 && err == nil && v.jobs != nil {
		some := ids[:min(len(ids), actMost)]
		ids = ids[len(some):]
		err = p.Visitors.As(r.Context(), who.Role, func(l store.Look) error {
			did, err := v.jobs(r.Context(), l, some, r.PostForm)
			n += did
			return err
		})
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
	q.Set("did", name)
	q.Set("n", strconv.Itoa(n))
	back.RawQuery = q.Encode()
	http.Redirect(w, r, back.RequestURI(), http.StatusSeeOther)
}

func (p *Pages) noOrder(w http.ResponseWriter, r *http.Request) {
	p.refuse(w, r, http.StatusBadRequest, "No such order", "This form is not valid, or too large.", "")
}

// meant are the jobs that a form names.
func meant(form url.Values) (ids []scheduler.JobID) {
	for _, text := range form["id"] {
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
	case v.one != nil || v.leads != nil:
		return "Done: " + v.Says + "."
	case n == 0:
		return "Nothing was changed: its present state does not allow it."
	case n == 1:
		return "1 job was " + v.Says + "."
	}
	return strconv.Itoa(n) + " jobs were " + v.Says + "."
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
