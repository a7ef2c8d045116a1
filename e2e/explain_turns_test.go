package e2e

import "testing"

// A job whose key has had its turn says which key comes next; one that awaits an event without a limit says so.
func TestExplain_TurnsAndEvents(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve("hosts:\n  - {name: local, slots: 1}\n" + agents("type: pause, command: [sleep], mode: exec"))
	e.waitState(e.insert("type, args, share", "pause", "600", "a"), "running")
	e.insert("type, args, share", "pause", "600", "a")
	last := e.insert("type, args, share", "pause", "600", "a")
	e.insert("type, args, share", "pause", "600", "b")
	e.because(last, "fair_share", "key")

	id := e.insert("type", "nap")
	e.sql("select bellhop.await_event(id, fence, 'paid.42', null) from bellhop.take('{nap}')")
	e.because(id, "awaits_event/ever", "paid.42")
}
