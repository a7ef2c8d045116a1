package store

import (
	"crypto/sha256"
	"testing"

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
		_, _, ok, err := visitors.Session(t.Context(), sha256.Sum256([]byte(session)))
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
