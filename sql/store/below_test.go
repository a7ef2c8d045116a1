package store

import (
	"fmt"
	"strings"
	"testing"

	"bellhop/scheduler"
	"bellhop/sql/view"
)

// What is foretold of the jobs that need a cancelled one is what becomes of them.
func TestBelow_IsWhatBecomesOfThem(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	over := e.needs()
	e.end(scheduler.Succeeded, over)
	root := e.needs()
	fails := e.needing("type, key", "'cat', 'a'", root)
	all := []scheduler.JobID{
		fails,
		e.needing("type, key", "'cat', 'b'", fails, over),
		e.needing("type, key, on_failure", "'cat', 'c', 'run'", root),
		e.needing("type, key, on_failure", "'cat', 'd', 'block'", fails),
		e.needing("type, key, held", "'cat', 'e', true", root),
	}
	below := func(id scheduler.JobID, most int) string {
		t.Helper()
		list, err := view.NewLook(e.conn).Below(t.Context(), []scheduler.JobID{id}, most)
		if err != nil {
			t.Fatal(err)
		}
		var words []string
		for _, b := range list {
			words = append(words, fmt.Sprintf("%s: %s of %d", *b.Key, b.Becomes, b.Among))
		}
		return strings.Join(words, ", ")
	}
	if got := below(over, 9); got != "" {
		t.Errorf("of one that is over: %s", got)
	}
	want := "a: failed of 5, b: failed of 5, c: run of 5, d: blocked of 5, e: held of 5"
	if got := below(root, 9); got != want {
		t.Errorf("foretold is %s\nwant %s", got, want)
	}
	if got := below(root, 2); got != "a: failed of 5, b: failed of 5" {
		t.Errorf("of two: %s", got)
	}
	e.exec("select bellhop.cancel($1)", int64(root))
	e.states("failed failed ready blocked held", all...)
}
