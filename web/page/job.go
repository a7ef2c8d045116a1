package page

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"bellhop/report"
	"bellhop/scheduler"
	"bellhop/scheduler/words"
	"bellhop/sql/view"
)

// logLevels are the levels of lines in the order of a filter.
var logLevels = []scheduler.Level{scheduler.LevelOut, scheduler.LevelErr, scheduler.LevelInfo, scheduler.LevelError,
	scheduler.LevelNote, scheduler.LevelDebug}

const (
	neighboursMost = 40
	logLinesMost   = 2000
	logTextMost    = 200_000 // of characters: lines may be long
)

type jobData struct {
	view.JobRow
	Reasons  []view.ReasonRow
	Forecast string
	Trace    report.Waterfall
	Bars     []timeBar
	Payload  *view.PayloadRow
	Sealed   bool // its args: the database does not have them in plain text
	Result   string
	Items    []itemGroup
	ItemsOf  *itemBar
	ItemsAll string             // where all of its failed items are
	Kept     []view.KeptStepRow // its steps
	Needs    []near
	Needed   []near
	Alike    int  // jobs that failed like it within a day, if more did
	NotRun   bool // it failed since one that it needs did
	Graph    bool // it is part of one
	Log      logData
	Age      float64
	Mine     bool // the viewer may change it: an operator, and its submitter
	CanRetry bool
	CanHold  bool
	Behind   *fromHere // nil: it is not offered
	Address  string
}

// logData is what is shown of a log.
type logData struct {
	May     bool
	Lines   []view.LogRow
	Attempt int
	Level   string
	Find    string
	Older   string // the address of those before; empty: these are the first
	Newest  string // the address of the last; empty: these are
}

// timeBar is a step of the waterfall, drawn on a width of 1000.
type timeBar struct {
	report.Step
	X, W   float64
	After  float64 // since the submission, in seconds
	Told   string  // the error of the job, which stands above
	Before bool
	Open   bool
}

func job(r *request) (content, error) {
	n, err := strconv.ParseInt(r.arg, 10, 64)
	if err != nil || n <= 0 {
		return content{}, errNotFound
	}
	id := scheduler.JobID(n)
	d := jobData{Address: r.pages.Address}
	var ok bool
	if d.JobRow, ok, err = r.Look.Job(r, id); err != nil {
		return content{}, err
	}
	if !ok {
		return content{}, errNotFound
	}
	d.Age, d.ItemsOf, d.ItemsAll = d.JobRow.Age, itemsOf(d.JobRow, r.now), itemsAt(id, url.Values{})
	if d.Reasons, err = r.Look.Explain(r, id); err != nil {
		return content{}, err
	}
	if err := d.timeline(r, id); err != nil {
		return content{}, err
	}
	if err := d.inside(r, id); err != nil {
		return content{}, err
	}
	d.CanRetry = d.State.Final()
	if r.may.Operates && d.CanRetry && len(d.Needed) > 0 {
		b, ok, err := r.Look.Behind(r, id)
		if err != nil {
			return content{}, err
		}
		if ok {
			d.Behind = &fromHere{b}
		}
	}
	d.tellOnce()
	_ = d.alike(r) // the last statement: a server that is too busy to count shows the job all the same
	d.CanHold = d.State == scheduler.Ready || d.State == scheduler.Scheduled || d.State == scheduler.Blocked
	return content{Title: "#" + r.arg + " " + clean(d.Type), Template: "job", Data: d}, nil
}

// timeline adds what was, what comes, and the jobs before and behind it.
func (d *jobData) timeline(r *request, id scheduler.JobID) error {
	if r.may.Reads {
		forecast, err := report.Foresee(r, r.Look, d.JobRow)
		if err != nil {
			return err
		}
		if forecast != nil {
			d.Forecast = forecast.Lines(r.now)
		}
	}
	attempts, err := r.Look.Attempts(r, id)
	if err != nil {
		return err
	}
	lost, err := r.Look.Lost(r, id)
	if err != nil {
		return err
	}
	g, err := r.Look.Graph(r, id, neighboursMost)
	if err != nil {
		return err
	}
	d.neighbours(id, g)
	var needs []view.NeedRow
	if len(d.Needs) > 0 {
		if needs, err = r.Look.Needs(r, id, 20); err != nil {
			return err
		}
	}
	d.Trace = report.NewWaterfall(d.JobRow, attempts, lost, needs, r.pages.TraceURL)
	d.Bars = timeBars(d.Trace)
	return nil
}

// inside adds what only operators and the job's submitter see: its input, its result, its log.
func (d *jobData) inside(r *request, id scheduler.JobID) error {
	d.Mine = r.may.Operates
	if !d.Mine {
		version, err := r.Look.VersionOf(r, id)
		if err != nil {
			return err
		}
		d.Mine = version != nil
	}
	d.Log = logData{May: d.Mine, Level: r.query.Get("level"), Find: r.query.Get("find")}
	if !d.Mine {
		return nil
	}
	payloads, err := r.Look.Payloads(r, []scheduler.JobID{id}, 0)
	if err != nil {
		return err
	}
	if p, ok := payloads[id]; ok {
		d.Sealed, p = p.Sealed(), p.Shown()
		d.Payload = &p
	}
	result, err := r.Look.Result(r, id)
	if err != nil {
		return err
	}
	d.Result = string(result)
	if d.Kept, err = r.Look.KeptSteps(r, id); err != nil {
		return err
	}
	if d.IsMSQ && r.may.Operates {
		rows, err := r.Look.ItemGroups(r, id)
		if err != nil {
			return err
		}
		d.Items = groupItems(id, rows)
		d.Items = d.Items[:min(len(d.Items), itemGroupsMost)]
	}
	d.Log.Attempt, _ = strconv.Atoi(r.query.Get("attempt"))
	levels := []scheduler.Level{}
	for _, l := range logLevels {
		if d.Log.Level == "" || string(l) == d.Log.Level {
			levels = append(levels, l)
		}
	}
	f := view.LineFilter{Attempt: d.Log.Attempt, Levels: levels, Words: d.Log.Find}
	if n, err := strconv.ParseInt(r.query.Get("before"), 10, 64); err == nil && n > 0 {
		f.Before = &n
	}
	if d.Log.Lines, err = r.Look.LastLines(r, id, f, logLinesMost+1, shownMost); err != nil {
		return err
	}
	d.Log.cut(r)
	return nil
}

// cut leaves out the oldest lines where there are more than a page has, and says where they are.
func (l *logData) cut(r *request) {
	from, text := len(l.Lines), 0
	for from > 0 && len(l.Lines)-from < logLinesMost && (text < logTextMost || from == len(l.Lines)) {
		from--
		text += len(l.Lines[from].Line)
	}
	same := url.Values{}
	for _, name := range []string{"level", "attempt", "find"} {
		if v := r.query.Get(name); v != "" {
			same.Set(name, v)
		}
	}
	at := func() string { return "/jobs/" + r.arg + "?" + same.Encode() + "#h-log" }
	if r.query.Has("before") {
		l.Newest = at()
	}
	if from > 0 {
		l.Lines = l.Lines[from:]
		same.Set("before", strconv.FormatInt(l.Lines[0].ID, 10))
		l.Older = at()
	}
}

// near is a job beside another one in a graph.
type near struct {
	view.Node
	NotRun bool // it failed since one that it needs did
}

func (d *jobData) neighbours(id scheduler.JobID, g view.Graph) {
	d.Graph = len(g.Nodes) > 1
	victims := notRun(g)
	at := map[scheduler.JobID]near{}
	for _, n := range g.Nodes {
		at[n.ID] = near{n, victims[n.ID]}
	}
	d.NotRun = victims[id]
	for _, e := range g.Edges {
		if n, ok := at[e.Needs]; ok && e.Job == id {
			d.Needs = append(d.Needs, n)
		}
		if n, ok := at[e.Job]; ok && e.Needs == id {
			d.Needed = append(d.Needed, n)
		}
	}
}

// Asks is the heading of the reasons.
func (d jobData) Asks() string {
	switch {
	case d.NotRun:
		return "Why it did not run"
	case d.State == scheduler.Failed || d.State == scheduler.Quarantined:
		return "Why it failed"
	case d.State.Final() || d.State == scheduler.Running:
		return "Status"
	}
	return "Why it waits"
}

// Pointer is when it was submitted.
func (d jobData) Pointer() *time.Time { return &d.CreatedAt }

// Share is how far it is.
func (d jobData) Share() float32 { return *d.Progress }

// timeBars places the steps of a waterfall beside each other's times.
func timeBars(w report.Waterfall) []timeBar {
	from, to := w.Row.CreatedAt, w.Row.CreatedAt
	end := func(s report.Step) time.Time { return s.From.Add(time.Duration(s.Seconds * float64(time.Second))) }
	for _, s := range w.Steps {
		if s.From.Before(from) {
			from = s.From
		}
		if e := end(s); e.After(to) {
			to = e
		}
	}
	whole := max(to.Sub(from).Seconds(), 1e-6)
	bars := make([]timeBar, len(w.Steps))
	for i, s := range w.Steps {
		b := timeBar{Step: s, X: s.From.Sub(from).Seconds() / whole * 1000, W: max(s.Seconds/whole*1000, 3),
			After: s.From.Sub(w.Row.CreatedAt).Seconds(), Open: s.To == nil}
		b.X = min(b.X, 997)
		b.W = min(b.W, 1000-b.X)
		if b.After < 0 {
			b.Before, b.After = true, -b.After
		}
		bars[i] = b
	}
	return bars
}

// More is what else is known of a step, but for what stands above.
func (b timeBar) More() string {
	more := b.Step.More()
	if b.Told == "" {
		return more
	}
	return strings.TrimPrefix(strings.Replace(", "+more, ", "+b.Told, "", 1), ", ")
}

// Took is how long a bar is, in words.
func (b timeBar) Took() string {
	text := words.Took(b.Seconds)
	if b.Open {
		text += "…"
	}
	return text
}

// Since is when a bar begins after the submission.
func (b timeBar) Since() string {
	if b.Before {
		return "−" + words.Took(b.After)
	}
	return "+" + words.Took(b.After)
}
