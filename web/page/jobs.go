package page

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"bellhop/scheduler"
	"bellhop/sql/view"
)

type jobsData struct {
	Title  string // what the list has, in words
	Count  string // how many there are
	Lines  []jobLine
	Has    columns
	Orders []jobOrder
	Order  string
	Among  int  // of so many jobs another order is
	Some   bool // there are more
	Each   bool // none are put together
	Folded bool // some are
	EachAt string
	States []stateChoice
	Types  []scheduler.TypeName
	Type   string
	Key    string
	Error  string
	Next   string // the next page's address; empty: this is the last
	First  string // the first page's, where this is not it
	Looked bool
	Line   string // the command that lists the same
	Less   string // parts of the filter that the command has not
	Filter []filterPart
	Times  timeFilter

	Address string
}

// filterPart is what a form for all that match has of the filter.
type filterPart struct{ Name, Value string }

// typesOf are the types of a field: words, between which a blank or a comma stands. One that has such in it stands
// between quotes, and a quote in there is two.
func typesOf(text string) (types []scheduler.TypeName) {
	var word strings.Builder
	quoted, begun := false, false
	end := func() {
		if begun {
			types = append(types, scheduler.TypeName(word.String()))
		}
		word.Reset()
		begun = false
	}
	runes := []rune(text)
	for i := 0; i < len(runes); i++ {
		switch c := runes[i]; {
		case quoted && c == '"' && i+1 < len(runes) && runes[i+1] == '"':
			word.WriteRune(c)
			i++
		case c == '"':
			quoted, begun = !quoted, true
		case !quoted && (c == ',' || c == ' '):
			end()
		default:
			word.WriteRune(c)
			begun = true
		}
	}
	end()
	return types
}

// typeWord is a type as a field has it.
func typeWord(t scheduler.TypeName) string {
	if t != "" && !strings.ContainsAny(string(t), `, "`) {
		return string(t)
	}
	return `"` + strings.ReplaceAll(string(t), `"`, `""`) + `"`
}

// keyOf is the beginning of keys that a field asks for.
func keyOf(text string) string { return strings.TrimSuffix(strings.TrimSpace(text), "*") }

// stateChoice is a state that can be chosen, and how many jobs are in it; N empty: that is not counted.
type stateChoice struct {
	State scheduler.JobState
	On    bool
	N     string
}

// numbered is the page of a job, if the search word is its number.
func numbered(r *request, word string) (c content, ok bool, err error) {
	word = strings.TrimSpace(word)
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil || n <= 0 {
		return c, false, nil
	}
	if _, ok, err = r.Look.Job(r, scheduler.JobID(n)); err != nil || !ok {
		return c, false, err
	}
	of := *r
	of.query, of.arg = url.Values{}, word
	c, err = job(&of)
	return c, true, err
}

// jobFilter reads the fields of a query, but for its times.
func jobFilter(q url.Values) view.JobFilter {
	s := view.JobFilter{
		Key:   keyOf(q.Get("key")),
		Error: strings.TrimSpace(q.Get("error")),
		Types: typesOf(q.Get("type")),
	}
	if n, err := strconv.ParseInt(q.Get("run"), 10, 64); err == nil {
		s.Run = &n
	}
	for _, state := range q["state"] {
		if st := scheduler.JobState(state); st.Valid() && !slices.Contains(s.States, st) {
			s.States = append(s.States, st)
		}
	}
	return s
}

// leads are the addresses of the same list: its first page, and the next one.
func (d *jobsData) leads(q url.Values, s view.JobFilter, below, next *int64) {
	same := url.Values{}
	for _, name := range []string{"state", "type", "key", "error", "run", "since", "until"} {
		if len(q[name]) > 0 && q.Get(name) != "" && (name != "key" || s.Key != "") { // * is any key, and none
			same[name] = q[name]
		}
	}
	for _, name := range slices.Sorted(maps.Keys(same)) {
		for _, value := range same[name] {
			d.Filter = append(d.Filter, filterPart{name, value})
		}
	}
	for _, name := range []string{"order", "each"} {
		if q.Get(name) != "" {
			same[name] = q[name]
		}
	}
	if below != nil {
		d.First = "/jobs?" + same.Encode()
	}
	if d.Folded {
		each := maps.Clone(same)
		each["each"] = []string{"yes"}
		d.EachAt = "/jobs?" + each.Encode()
	}
	if next != nil {
		same.Set("below", strconv.FormatInt(*next, 10))
		d.Next = "/jobs?" + same.Encode()
	}
}

// listTitle says which jobs a list has.
func listTitle(states []scheduler.JobState) string {
	if len(states) == 0 {
		return "Unfinished and failed jobs"
	}
	var list []string
	for _, s := range states {
		list = append(list, string(s))
	}
	title := strings.Join(list, ", ") + " jobs"
	return strings.ToUpper(title[:1]) + title[1:]
}

// lessThan says which parts of a filter the command line has not.
func lessThan(s view.JobFilter) string {
	var list []string
	for _, part := range []struct {
		is   bool
		says string
	}{{s.Key != "", "the key"}, {s.Error != "", "the error"}, {s.Run != nil, "the run"},
		{s.CreatedAfter != nil || s.CreatedBefore != nil, "the times"}} {
		if part.is {
			list = append(list, part.says)
		}
	}
	return strings.Join(list, " and ")
}

func jobs(r *request) (content, error) {
	q := r.query
	if id, is := strings.CutPrefix(strings.TrimSpace(q.Get("key")), "#"); is {
		if c, ok, err := numbered(r, id); ok || err != nil {
			return c, err
		}
	}
	s := jobFilter(q)
	d := jobsData{Type: q.Get("type"), Key: s.Key, Error: s.Error, Times: timesOf(q), Address: r.pages.Address,
		Title: listTitle(s.States), Orders: jobOrders, Order: q.Get("order"), Each: q.Get("each") != ""}
	s.CreatedAfter, s.CreatedBefore = d.Times.after, d.Times.before
	for _, state := range scheduler.JobStates {
		d.States = append(d.States, stateChoice{State: state, On: slices.Contains(s.States, state)})
	}
	var below *int64
	if n, err := strconv.ParseInt(q.Get("below"), 10, 64); err == nil && n > 0 {
		below = &n
	}
	next, err := d.list(r, s, below)
	if err != nil {
		return content{}, err
	}
	if len(d.Lines) == 0 && next == nil { // a number that no key begins with is a job's
		if c, ok, err := numbered(r, q.Get("key")); ok || err != nil {
			return c, err
		}
	}
	d.leads(q, s, below, next)
	if err := d.given(r); err != nil {
		return content{}, err
	}
	if r.may.Reads {
		if err := d.countStates(r); err != nil {
			return content{}, err
		}
		if d.Types, err = r.types(); err != nil {
			return content{}, err
		}
	}
	d.Line = "bellhop ls"
	for _, state := range s.States {
		d.Line += " -s " + string(state)
	}
	for _, t := range s.Types {
		d.Line += " -t " + shell(string(t))
	}
	d.Less = lessThan(s)
	return content{Title: "Jobs", Template: "jobs", Data: d}, nil
}
