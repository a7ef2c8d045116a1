package lock

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ActionKind is what a rule does with the jobs that it applies to.
type ActionKind string

const (
	Accept    ActionKind = "ACCEPT"     // they run
	Continue  ActionKind = "CONTINUE"   // nothing: the next rule is looked at
	Pause     ActionKind = "PAUSE"      // they wait; those that run go on
	Reject    ActionKind = "REJECT"     // they are refused, and cancelled where they wait
	RateLimit ActionKind = "RATE_LIMIT" // only so many at once, or in a time
)

// Action is an ActionKind with its limit.
type Action struct {
	Kind  ActionKind
	Limit int           // of RATE_LIMIT, at least 1
	Per   time.Duration // how many may start within it; 0: how many may run at once
	By    string        // the limit is one for each value of this var; empty: one for all
	// ByShare: the limit is one for each share; jobs without one count together.
	ByShare bool
}

func (a Action) String() string {
	if a.Kind != RateLimit {
		return string(a.Kind)
	}
	text := fmt.Sprintf("%s %d", a.Kind, a.Limit)
	if a.Per != 0 {
		text += " per " + shortly(a.Per)
	}
	if a.By != "" {
		text += " by vars." + a.By
	}
	if a.ByShare {
		text += " by share"
	}
	return text
}

// shortly is a duration as people write it: 1m and not 1m0s.
func shortly(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

const howToAct = "write ACCEPT, CONTINUE, PAUSE, REJECT, RATE_LIMIT 2, RATE_LIMIT 10 per 1m, or " +
	"RATE_LIMIT 10 per 1m by vars.CUSTOMER or by share"

// varName is the name of a var by which a limit counts; bellhop.filter_check has the same.
var varName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// ParseAction reads an action; none is CONTINUE.
func ParseAction(text string) (Action, error) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return Action{Kind: Continue}, nil
	}
	a := Action{Kind: ActionKind(strings.ToUpper(words[0]))}
	switch a.Kind {
	case Accept, Continue, Pause, Reject:
		if len(words) > 1 {
			return Action{}, fmt.Errorf("action %q: %s takes nothing, and there is %q; %s", text, a.Kind, words[1], howToAct)
		}
		return a, nil
	case RateLimit:
	default:
		return Action{}, fmt.Errorf("action %q: there is no action %q; %s", text, words[0], howToAct)
	}
	if n := len(words); n >= 4 && words[n-2] == "by" {
		name, is := strings.CutPrefix(words[n-1], "vars.")
		if a.ByShare = words[n-1] == "share"; !a.ByShare && (!is || !varName.MatchString(name)) {
			return Action{}, fmt.Errorf("action %q: by names a var, and %q is none; write by vars.CUSTOMER, or by share",
				text, words[n-1])
		}
		if !a.ByShare {
			a.By = name
		}
		words = words[:n-2]
	}
	if len(words) != 2 && (len(words) != 4 || words[2] != "per") {
		return Action{}, fmt.Errorf("action %q: RATE_LIMIT takes a number, or a number, per, and a time; %s", text, howToAct)
	}
	n, err := strconv.Atoi(words[1])
	if err != nil || n < 1 {
		return Action{}, fmt.Errorf("action %q: %q is not a number from 1 on; %s", text, words[1], howToAct)
	}
	a.Limit = n
	if len(words) == 4 {
		if a.Per, err = time.ParseDuration(words[3]); err != nil || a.Per < time.Millisecond {
			return Action{}, fmt.Errorf("action %q: %q is not a valid time; write 30s, 1m, 1h30m", text, words[3])
		}
	}
	return a, nil
}

// Closed is the action taken instead if a part of the rule cannot be read: jobs that the rule might hold wait, and
// jobs that it might let through are left to the later rules.
func (a Action) Closed() Action {
	if a.Kind == Accept || a.Kind == Continue {
		return Action{Kind: Continue}
	}
	return Action{Kind: Pause}
}

// Subject is what a predicate looks at.
type Subject string

const (
	OfID     Subject = "jobid"
	OfJob    Subject = "opcode" // Ganeti's name: there, a job is a list of operations
	OfReason Subject = "reason"
)

// fieldNames are the fields of each subject, as people are told of them.
var fieldNames = map[Subject][]string{
	OfID:     {"id"},
	OfJob:    {"type", "OP_ID", "args", "args.PATH", "key", "run_on", "priority", "vars.NAME", "locks", "reasons", "submitted_by"},
	OfReason: {"reason", "source", "timestamp"},
}

// Predicate is a test of jobs. ParsePredicate makes it.
type Predicate struct {
	Subject Subject
	text    string
	expr    expr
}

// Text is the predicate as it was written.
func (p Predicate) Text() string { return p.text }

// ParsePredicate reads ["jobid", E], ["opcode", E] or ["reason", E], where E is an
// expression of Ganeti's filter language. The error is an *ExprError.
func ParsePredicate(text string) (Predicate, error) {
	r := newReader(text)
	if err := r.open(); err != nil {
		return Predicate{}, err
	}
	subject, err := r.word("jobid, opcode or reason")
	if err != nil {
		return Predicate{}, err
	}
	p := Predicate{Subject: Subject(subject), text: text}
	if fieldNames[p.Subject] == nil {
		return Predicate{}, r.fail(r.at, fmt.Sprintf("there is no predicate %q", subject), `write ["jobid",E], ["opcode",E] or ["reason",E]`)
	}
	if p.expr, err = r.expr(1); err == nil {
		if err = r.close(); err == nil {
			err = r.end()
		}
	}
	if err != nil {
		return Predicate{}, err
	}
	return p, nil
}

// UnknownFields are the fields that the predicate asks for and that no job has. A test of one has no answer, so
// that the predicate never matches by it: warn the operator that adds such a rule.
func (p Predicate) UnknownFields() []string {
	var unknown []string
	var look func(e expr)
	look = func(e expr) {
		if e.field != "" && !p.Subject.has(e.field) && !slices.Contains(unknown, e.field) {
			unknown = append(unknown, e.field)
		}
		for _, u := range e.under {
			look(u)
		}
	}
	look(p.expr)
	return unknown
}

func (s Subject) has(field string) bool {
	if s == OfJob && (strings.HasPrefix(field, "vars.") || strings.HasPrefix(field, "args.")) {
		return true
	}
	return slices.Contains(fieldNames[s], field) && !strings.Contains(field, ".")
}

// matches reports whether a job fulfils the predicate under a rule's watermark.
func (p Predicate) matches(j Job, watermark ID) bool {
	switch p.Subject {
	case OfID:
		id := func(name string) (any, bool) { return float64(j.ID), name == "id" }
		return p.expr.marked(float64(watermark)).eval(id) == isTrue
	case OfReason:
		holds := func(reason string) bool { return p.expr.eval(j.reasonFields(reason)) == isTrue }
		return slices.ContainsFunc(j.Reasons, holds)
	}
	return p.expr.eval(j.field) == isTrue
}

// marked is the expression with the rule's watermark in place of the text "watermark".
func (e expr) marked(watermark float64) expr {
	if e.value == "watermark" && e.op != "=~" {
		e.value = watermark
	}
	under := make([]expr, len(e.under))
	for i, u := range e.under {
		under[i] = u.marked(watermark)
	}
	e.under = under
	return e
}

// field is what a job has for predicates of opcode: Ganeti's OP_ID is the type,
// and its parameters are the columns. args.PATH looks into args that are JSON. A
// var, or a path, that a job has not is null: "?" says no, and the rest has no answer.
func (j Job) field(name string) (any, bool) {
	switch name {
	case "type", "OP_ID":
		return j.Type, true
	case "args":
		return j.Args, true
	case "key":
		return j.Key, true
	case "run_on":
		return j.RunOn, true
	case "submitted_by":
		return j.SubmittedBy, true
	case "priority":
		return float64(j.Priority), true
	case "locks":
		return anys(j.Locks.Text()), true
	case "reasons":
		return anys(j.Reasons), true
	}
	if v, is := strings.CutPrefix(name, "vars."); is {
		if value, there := j.Vars[v]; there {
			return value, true
		}
		return nil, true
	}
	if path, is := strings.CutPrefix(name, "args."); is {
		return inside(j.Args, path), true
	}
	return nil, false
}

func anys(texts []string) []any {
	list := make([]any, len(texts))
	for i, t := range texts {
		list[i] = t
	}
	return list
}

// inside follows a dotted path into JSON; nil: there is nothing, or it is no JSON.
func inside(text, path string) any {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return nil
	}
	for step := range strings.SplitSeq(path, ".") {
		object, is := v.(map[string]any)
		if !is {
			return nil
		}
		v = object[step]
	}
	return v
}

// reasonFields are those of one reason: its text, its submitter, and its time, in seconds since 1970.
func (j Job) reasonFields(reason string) fields {
	return func(name string) (any, bool) {
		switch name {
		case "reason":
			return reason, true
		case "source":
			return j.SubmittedBy, true
		case "timestamp":
			return float64(j.Submitted.UnixMicro()) / 1e6, true
		}
		return nil, false
	}
}

// RuleID names a rule.
type RuleID string

// Rule is a job filter. Filters are not security: a user that may change them may do anything.
type Rule struct {
	ID         RuleID
	Priority   int // from 0 on, the lowest first
	Watermark  ID  // the highest job when the rule was added or replaced
	Predicates []Predicate
	Action     Action
	Reason     string
}

// Matches reports whether all predicates of the rule hold; a rule without any matches every job.
func (r Rule) Matches(j Job) bool {
	for _, p := range r.Predicates {
		if !p.matches(j, r.Watermark) {
			return false
		}
	}
	return true
}

// Sorted gives rules in the order in which they are asked: (priority, watermark, id).
func Sorted(rules []Rule) []Rule {
	sorted := slices.Clone(rules)
	slices.SortFunc(sorted, func(a, b Rule) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Watermark, b.Watermark), cmp.Compare(a.ID, b.ID))
	})
	return sorted
}

// Applying is the rule that decides about a job: of sorted rules the first that
// matches and does anything. nil: none, and the job is accepted.
func Applying(sorted []Rule, j Job) *Rule {
	for i := range sorted {
		if sorted[i].Action.Kind != Continue && sorted[i].Matches(j) {
			return &sorted[i]
		}
	}
	return nil
}
