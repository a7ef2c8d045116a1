package store

import (
	"strings"
	"testing"

	"bellhop/scheduler/lock"
)

// shareTemplate has the instance tell its types anew, cat with this template of shares; empty: none.
func (e *env) shareTemplate(text string) {
	e.Helper()
	a := Agent{Type: "cat", Mode: "warm", Dialect: "auto", Command: "cat"}
	if text != "" {
		a.Share = must(lock.ParseShare(text))
	}
	if err := e.registry.Reintroduce(e.Context(), e.me, Instance{Agents: []Agent{a, {Type: "dog", Mode: "warm", Dialect: "auto"}}}); err != nil {
		e.Fatal(err)
	}
}

// A job without a share gets its type's template's, whatever inserts it; its own wins, and without the var it has none.
func TestShareTemplates_GiveJobsAShare(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.shareTemplate("${vars.REGION}/${vars.CUSTOMER}")
	for _, is := range []struct{ columns, values, share string }{
		{"type, vars", `'cat', '{"CUSTOMER": "42", "REGION": "eu"}'`, "eu/42"},
		{"type, vars, share", `'cat', '{"CUSTOMER": "42", "REGION": "eu"}', 'own'`, "own"},
		{"type, vars", `'cat', '{"CUSTOMER": "42"}'`, "-"},
		{"type, vars", `'cat', '{"CUSTOMER": "42", "REGION": ""}'`, "-"},
		{"type", "'cat'", "-"},
		{"type, vars", `'dog', '{"CUSTOMER": "42", "REGION": "eu"}'`, "-"},
		{"type, vars", `'cat', jsonb_build_object('CUSTOMER', repeat('ä', 300), 'REGION', 'eu')`, "eu/" + strings.Repeat("ä", 197)},
	} {
		id := e.insert(is.columns, is.values)
		if got := e.one("select coalesce(share, '-') from bellhop.jobqueue where id = $1", int64(id)); got != is.share {
			t.Errorf("%s %s: %q, want %q", is.columns, is.values, got, is.share)
		}
	}
	e.exec("delete from bellhop.jobqueue")
	for range 3 {
		e.insert("type, vars", `'cat', '{"CUSTOMER": "1", "REGION": "eu"}'`)
	}
	e.insert("type, vars", `'cat', '{"CUSTOMER": "2", "REGION": "eu"}'`)
	e.wantStarts(4, 1, "eu/1 eu/2 eu/1 eu/1")
}

// The last word about a type holds, also after its instance; without a template jobs have no share again.
func TestShareTemplates_TheLastWordHolds(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	next := func(want string) {
		t.Helper()
		id := e.insert("type, args, key, vars", `'cat', 'x', 'k' || clock_timestamp(), '{"C": "42"}'`)
		if got := e.one("select coalesce(share, '-') from bellhop.jobqueue where id = $1", int64(id)); got != want {
			t.Errorf("share %q, want %q", got, want)
		}
	}
	next("-")
	e.shareTemplate("${vars.C}")
	next("42")
	e.shareTemplate("$${${vars.C}:${args}")
	next("${42:x")
	if did, _, err := e.registry.MarkGone(t.Context(), e.me, "test", true); err != nil || !did {
		t.Fatal(did, err)
	}
	next("${42:x")
	e.me = e.register("next", 0) // its cat has none
	next("-")
	e.shareTemplate("${vars.C}")
	next("42")
}

// A submission that is repeated under its key is the same one, whatever the template says by now; a replaced job has
// the share of its new vars.
func TestShareTemplates_AndKeys(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.shareTemplate("a${vars.C}")
	const same = `select bellhop.submit('cat', key => 'k', vars => '{"C": "1"}', held => true)`
	first := e.one(same)
	e.shareTemplate("b${vars.C}")
	if again := e.one(same); again != first {
		t.Errorf("job %s, and then %s", first, again)
	}
	e.shareTemplate("")
	if again := e.one(same); again != first {
		t.Errorf("job %s, and then %s", first, again)
	}
	if said := e.fails(`select bellhop.submit('cat', key => 'k', vars => '{"C": "1"}', held => true, share => 'x')`); !strings.Contains(said, "share") {
		t.Error(said)
	}
	e.shareTemplate("b${vars.C}")
	e.one(`select bellhop.submit('cat', key => 'k', vars => '{"C": "2"}', replace => true)`)
	if got := e.one("select share from bellhop.jobqueue where id = $1::bigint", first); got != "b2" {
		t.Errorf("a replaced job has share %s", got)
	}
}
