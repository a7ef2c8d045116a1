package lock

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func predicate(t testing.TB, text string) Predicate {
	t.Helper()
	p, err := ParsePredicate(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var mail = Job{ID: 42, Type: "mail", Args: `{"to":{"name":"Eva"},"n":3,"list":["a",2]}`, Key: "k.42",
	RunOn: "srv:7", SubmittedBy: "shop",
	Priority: 5, Vars: map[string]string{"USER": "7"}, Reasons: []string{"nightly", "rate-limit:2:x"},
	Locks: NewSet(Want{Level: "customer", Name: "42", Mode: Exclusive}), Submitted: time.Unix(1_800_000_000, 0)}

// Ganeti's job filters: the expression language.
func TestPredicate_EveryOperator(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`["jobid",["=","id",42]]`: true, `["jobid",["<","id",42]]`: false, `["jobid",["<=","id",42]]`: true,
		`["jobid",[">","id",41]]`: true, `["jobid",[">=","id",43]]`: false, `["jobid",["?","id"]]`: true,
		`["opcode",["=","type","mail"]]`: true, `["opcode",["=","OP_ID","mail"]]`: true,
		`["opcode",["<","type","mbil"]]`: true,
		`["opcode",["=~","type","ai"]]`:  true, `["opcode",["=~","type","^ai"]]`: false,
		`["opcode",["=","vars.USER","7"]]`: true, `["opcode",["?","vars.USER"]]`: true, `["opcode",["?","vars.NO"]]`: false,
		`["opcode",["!",["?","vars.NO"]]]`: true, `["opcode",["=","args.to.name","Eva"]]`: true, `["opcode",[">","args.n",2.5]]`: true,
		`["opcode",["=[]","args.list",2]]`: true, `["opcode",["=[]","args.list","2"]]`: false,
		`["opcode",["=[]","locks","customer:42=exclusive"]]`: true, `["opcode",["=[]","reasons","nightly"]]`: true,
		`["opcode",["=","run_on","srv:7"]]`: true, `["opcode",["=","key","k.42"]]`: true,
		`["opcode",["<","priority",6]]`:          true,
		`["opcode",["=","submitted_by","shop"]]`: true, `["opcode",["=~","args","Eva"]]`: true,
		`["reason",["=","reason","nightly"]]`: true, `["reason",["=","source","shop"]]`: true, `["reason",[">","timestamp",1799999999]]`: true,
		`["opcode",["&",["=","type","mail"],["=","key","k.42"]]]`: true, `["opcode",["&"]]`: true, `["opcode",["|"]]`: false,
		`["opcode",["|",["=","type","x"],["=","key","k.42"]]]`: true, `["opcode",["!",["=","type","x"]]]`: true, `["opcode",null]`: true,
	} {
		if got := predicate(t, text).matches(mail, 0); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// The traps of Ganeti's job filters.
func TestPredicate_Traps(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`["opcode",["=","nothing","x"]]`:                              false,
		`["opcode",["!",["=","nothing","x"]]]`:                        false, // its falsity is not inverted
		`["opcode",["|",["=","nothing","x"],["=","type","mail"]]]`:    true,
		`["opcode",["!",["&",["=","nothing","x"],["=","type","y"]]]]`: true,  // decided, whatever nothing is
		`["jobid",["=","id","42"]]`:                                   false, // a number is no text
		`["jobid",["!",["=","id","42"]]]`:                             false,
		// In Ganeti regular expressions are for opcode alone.
		`["reason",["=~","reason","^night"]]`:   true,
		`["jobid",["=~","id","4"]]`:             false, // an id is a number
		`["jobid",[">","id","watermark"]]`:      true,
		`["jobid",["<=","id","watermark"]]`:     false,
		`["opcode",["=","type","watermark"]]`:   false, // of jobid alone
		`["reason",["=","reason","watermark"]]`: false,
	} {
		if got := predicate(t, text).matches(mail, 41); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	if predicate(t, `["reason",["!",["=","reason","x"]]]`).matches(Job{}, 0) {
		t.Error("a job without reasons has none that matches")
	}
	if got := predicate(t, `["opcode",["|",["=","nothing","x"],["?","vars.A"],["=","args.B",1],["=","args.","x"]]]`).UnknownFields(); !slices.Equal(got, []string{"nothing"}) {
		t.Error(got)
	}
}

func TestPredicate_ErrorsNameThePosition(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		at   int
		says string
	}{
		{``, 1, "not JSON"}, {`jobid`, 1, "not JSON"}, {`{}`, 1, "a list is expected"}, {`["job",["?","id"]]`, 2, `no predicate "job"`},
		{`["jobid"]`, 9, "a list is expected"}, {`["jobid",["==","id",1]]`, 11, `no operator "=="`},
		{`["jobid",["=","id"]]`, 19, "a value is expected"}, {`["jobid",["=","id",[1]]]`, 20, "a value is expected"},
		{`["jobid",["=","id",1,2]]`, 22, "too much"}, {`["jobid",["=","id",1]] x`, 24, "something follows"},
		{`["jobid",["!",["?","id"],["?","id"]]]`, 26, "! takes one"}, {`["jobid",["!"]]`, 14, "! takes one"},
		{`["opcode",["=~","žluť","a("]]`, 24, "missing closing )"}, {`["opcode",["=~","type",1]]`, 24, "regular expression is expected"},
		{`["jobid",["=",1,1]]`, 15, "a field is expected"}, {`["jobid",["=","id",1`, 21, "not JSON"},
		{`["jobid",` + strings.Repeat(`["!",`, 80) + `1`, 330, "nested"},
	} {
		_, err := ParsePredicate(c.text)
		var e *ExprError
		if !errors.As(err, &e) || e.At != c.at || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.text, err)
		}
	}
}

func FuzzParsePredicate(f *testing.F) {
	f.Add(`["opcode",["&",["=~","type","^a"],["!",["<","args.n",3]],["=[]","locks","big"],null]]`)
	f.Add(`["jobid",[">","id","watermark"]]`)
	f.Add(`["reason",["|"]]`)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePredicate(text)
		if err != nil {
			var e *ExprError
			if !errors.As(err, &e) || e.At < 1 || e.At > len(text)+1 {
				t.Fatalf("%v", err)
			}
			return
		}
		p.matches(mail, 1)
		if _, err := ParsePredicate(p.Text()); err != nil {
			t.Fatal(err)
		}
	})
}

func TestParseAction(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Action{
		"": {Kind: Continue}, "ACCEPT": {Kind: Accept}, "pause": {Kind: Pause}, " REJECT ": {Kind: Reject},
		"RATE_LIMIT 2": {Kind: RateLimit, Limit: 2}, "RATE_LIMIT 10 per 1m": {Kind: RateLimit, Limit: 10, Per: time.Minute},
		"RATE_LIMIT 2 by vars.A_1":        {Kind: RateLimit, Limit: 2, By: "A_1"},
		"RATE_LIMIT 2 by share":           {Kind: RateLimit, Limit: 2, ByShare: true},
		"RATE_LIMIT 2 per 1m by share":    {Kind: RateLimit, Limit: 2, Per: time.Minute, ByShare: true},
		"RATE_LIMIT 2 by vars.share":      {Kind: RateLimit, Limit: 2, By: "share"},
		"RATE_LIMIT 2 per 1m by vars.X5m": {Kind: RateLimit, Limit: 2, Per: time.Minute, By: "X5m"},
		"rate_limit 1 per 1h30m":          {Kind: RateLimit, Limit: 1, Per: 90 * time.Minute},
	} {
		a, err := ParseAction(text)
		if err != nil || a != want {
			t.Errorf("%q: %+v, %v", text, a, err)
		}
		if again, err := ParseAction(a.String()); err != nil || again != a {
			t.Errorf("%q: %+v, %v", a.String(), again, err)
		}
	}
	for text, says := range map[string]string{"STOP": "no action", "PAUSE 2": "takes nothing", "RATE_LIMIT": "takes a number", "RATE_LIMIT 0": "from 1 on",
		"RATE_LIMIT x": "from 1 on", "RATE_LIMIT 2 per": "takes a number", "RATE_LIMIT 2 per minute": "not a valid time", "RATE_LIMIT 2 per -1m": "not a valid time", "RATE_LIMIT 2 each 1m": "takes a number",
		"RATE_LIMIT 2 by CUSTOMER": "names a var", "RATE_LIMIT 2 per 1m by vars.": "names a var", "RATE_LIMIT by vars.X": "takes a number",
		"RATE_LIMIT 2 by vars.X per 1m": "takes a number"} {
		if _, err := ParseAction(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Ganeti's job filters: (priority, watermark, id), and the first that does anything decides.
func TestApplying_TheFirstThatDoesAnything(t *testing.T) {
	t.Parallel()
	all := []Predicate(nil)
	onlyX := []Predicate{predicate(t, `["opcode",["=","type","x"]]`)}
	rules := []Rule{
		{ID: "late", Priority: 2, Action: Action{Kind: Reject}, Predicates: all},
		{ID: "b", Priority: 1, Watermark: 5, Action: Action{Kind: Accept}, Predicates: all},
		{ID: "a", Priority: 1, Watermark: 5, Action: Action{Kind: Pause}, Predicates: all},
		{ID: "c", Priority: 1, Watermark: 9, Action: Action{Kind: Reject}, Predicates: all},
		{ID: "first", Priority: 0, Action: Action{Kind: Continue}, Predicates: all},
		{ID: "x", Priority: 0, Action: Action{Kind: Reject}, Predicates: append(onlyX, predicate(t, `["jobid",[">","id","watermark"]]`))},
	}
	sorted := Sorted(rules)
	if got := Applying(sorted, mail); got == nil || got.ID != "a" {
		t.Errorf("%+v", got)
	}
	if got := Applying(sorted, Job{ID: 1, Type: "x"}); got == nil || got.ID != "x" {
		t.Errorf("all predicates hold: %+v", got)
	}
	if got := Applying(sorted, Job{ID: 0, Type: "x"}); got == nil || got.ID != "a" {
		t.Errorf("one predicate does not hold: %+v", got)
	}
	if got := Applying(sorted[:1], mail); got != nil {
		t.Errorf("CONTINUE decides nothing: %+v", got)
	}
}

// Ganeti's job filters, RATE_LIMIT: who runs under the rule counts, whether it
// was there first or not, and is never killed.
func TestSelect_RateLimits(t *testing.T) {
	t.Parallel()
	job := func(id ID, typ string, reasons ...string) Job {
		return Job{ID: id, Type: typ, Reasons: reasons, Since: epoch}
	}
	rule := Rule{ID: "r", Predicates: []Predicate{predicate(t, `["opcode",["=","type","mail"]]`)},
		Action: Action{Kind: RateLimit, Limit: 2}}
	minute := rule
	minute.Action.Per = time.Minute
	earlier := Rule{ID: "e", Action: Action{Kind: Accept},
		Predicates: []Predicate{predicate(t, `["jobid",["=","id",1]]`)}, Watermark: -1}
	for _, c := range []struct {
		name             string
		running, pending []Job
		rules            []Rule
		starts           []time.Time
		want             []ID
		until            time.Time
	}{
		{"as many as may", nil, []Job{job(1, "mail"), job(2, "mail"), job(3, "mail"), job(4, "x")}, []Rule{rule}, nil, []ID{1, 2, 4}, time.Time{}},
		{"who runs counts", []Job{job(9, "mail")}, []Job{job(1, "mail"), job(2, "mail")}, []Rule{rule}, nil, []ID{1}, time.Time{}},
		{"overfull stops its own alone", []Job{job(7, "mail"), job(8, "mail"), job(9, "mail")}, []Job{job(1, "mail"), job(2, "x")}, []Rule{rule}, nil, []ID{2}, time.Time{}},
		{"whose applying rule is another counts not", []Job{job(9, "mail")}, []Job{job(1, "mail"), job(2, "mail")}, []Rule{rule, earlier}, nil, []ID{1, 2}, time.Time{}},
		{"per minute", nil, []Job{job(1, "mail"), job(2, "mail"), job(3, "x")}, []Rule{minute},
			[]time.Time{epoch.Add(-59 * time.Second), epoch.Add(-61 * time.Second)}, []ID{1, 3}, epoch.Add(time.Second)},
		{"per minute, a minute later", nil, []Job{job(1, "mail"), job(2, "mail")}, []Rule{minute},
			[]time.Time{epoch.Add(-time.Minute), epoch.Add(-time.Minute)}, []ID{1, 2}, time.Time{}},
		{"buckets: N is part of the name", []Job{job(9, "a", "rate-limit:1:x")}, []Job{job(1, "a", "rate-limit:1:x"), job(2, "a", "rate-limit:2:x"), job(3, "a", "rate-limit:1:y")},
			nil, nil, []ID{2, 3}, time.Time{}},
		{"a place in all of its buckets", []Job{job(9, "a", "rate-limit:1:x")}, []Job{job(1, "a", "rate-limit:1:x", "rate-limit:1:y"), job(2, "a", "rate-limit:1:y")},
			nil, nil, []ID{2}, time.Time{}},
		{"once in each", nil, []Job{job(1, "a", "rate-limit:2:x", "rate-limit:2:x"), job(2, "a", "rate-limit:2:x"), job(3, "a", "rate-limit:2:x")},
			nil, nil, []ID{1, 2}, time.Time{}},
	} {
		d := Select(Input{Policy: DefaultPolicy, Now: epoch, Free: 9, Running: c.running, Pending: c.pending,
			Rules: c.rules, Starts: map[RuleID][]time.Time{"r": c.starts}})
		if got := picked(d); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v", c.name, got)
		}
		for id, why := range d.Waits {
			if why.Code != RateLimited || !c.until.IsZero() && !why.Until.Equal(c.until) {
				t.Errorf("%s: %d: %+v", c.name, id, why)
			}
		}
	}
}

func TestBuckets_WhatIsAnOrdinaryReason(t *testing.T) {
	t.Parallel()
	got := Buckets([]string{"rate-limit:3:a b:c", "rate-limit:1:", "rate-limit:3:a b:c", "rate-limit:03:z",
		" rate-limit:1:x", "rate-limit:0:x", "rate-limit:-1:x", "rate-limit:+1:x", "rate-limit:x:x", "rate-limit:1", "rate-limit::x",
		"rate-limit:99999999999999999999:x", "Rate-limit:1:x", ""})
	if want := []Bucket{{3, "a b:c"}, {1, ""}, {3, "z"}}; !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}
