package store

import (
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"bellhop/sql/view"
)

// A link is good for two minutes and once, a session for twelve hours: a moment before they open, a moment after they
// do not. The row's own clock is moved, not ours.
func TestSessions_LastForAsLongAsTheyMay(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	visitors, err := view.NewVisitors(e.url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(visitors.Close)
	passes := func(time string) { e.exec("update bellhop.sign_in set until = until - $1::text::interval", time) }
	enter := func(link, session string) bool {
		t.Helper()
		_, _, ok, err := visitors.Enter(t.Context(), sha256.Sum256([]byte(link)), sha256.Sum256([]byte(session)))
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	signedIn := func(session string) bool {
		t.Helper()
		_, _, _, ok, err := visitors.Session(t.Context(), sha256.Sum256([]byte(session)))
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	link := func(secret string) {
		t.Helper()
		digest := sha256.Sum256([]byte(secret))
		e.exec("select bellhop.sign_in($1)", digest[:])
	}
	link("old")
	if passes("121 s"); enter("old", "never") || signedIn("never") {
		t.Error("a link opens after two minutes")
	}
	link("new")
	if passes("90 s"); !enter("new", "mine") || !signedIn("mine") {
		t.Fatal("a link does not open after 90 seconds")
	}
	if enter("new", "another") || signedIn("another") {
		t.Error("a link opens twice")
	}
	if enter("mine", "third") {
		t.Error("a session is taken for a link")
	}
	if passes("11 h 58 min"); !signedIn("mine") {
		t.Error("a session is over before twelve hours")
	}
	if passes("2 min 1 s"); signedIn("mine") {
		t.Error("a session goes on after twelve hours")
	}
}

// A person's session has the role that it began with, and ends when it is to. An attempt makes one session, and a
// person has twenty at most. Neither is taken for a database login's.
func TestSessions_OfPeople(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	visitors, err := view.NewVisitors(e.url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(visitors.Close)
	admit := func(session, attempt string) bool {
		t.Helper()
		ok, err := visitors.Admit(t.Context(), sha256.Sum256([]byte(session)), sha256.Sum256([]byte(attempt)),
			"ann@example.org", "bellhop_reader", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	is := func(session string) string {
		t.Helper()
		name, role, person, ok, err := visitors.Session(t.Context(), sha256.Sum256([]byte(session)))
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(name, " ", role, " ", person, " ", ok)
	}
	const hers, none = "ann@example.org bellhop_reader true true", "  false false"
	if !admit("first", "attempt") || is("first") != hers {
		t.Errorf("her session is %q", is("first"))
	}
	if admit("second", "attempt") || is("second") != none {
		t.Errorf("an attempt makes two sessions: %q", is("second"))
	}
	link := sha256.Sum256([]byte("first"))
	if _, _, ok, err := visitors.Enter(t.Context(), link, sha256.Sum256([]byte("x"))); ok || err != nil {
		t.Errorf("a session is taken for a link: %v", err)
	}
	e.exec("update bellhop.sign_in set until = until - interval '3599 s'")
	if is("first") != hers {
		t.Errorf("a second before its end it is %q", is("first"))
	}
	e.exec("update bellhop.sign_in set until = until - interval '1 s'")
	if is("first") != none {
		t.Errorf("after its end it is %q", is("first"))
	}
	for i := range 25 {
		admit(fmt.Sprint("s", i), fmt.Sprint("a", i))
		e.exec("update bellhop.sign_in set until = until - interval '1 s'")
	}
	if n := e.one("(select count(*) from bellhop.sign_in)"); n != "20" {
		t.Errorf("she has %s sessions", n)
	}
	if is("s4") != none || is("s5") != hers || is("s24") != hers {
		t.Errorf("%q, %q, %q", is("s4"), is("s5"), is("s24"))
	}
}
