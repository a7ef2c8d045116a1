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

	// So does one that has locks, and one that a filter limits, when only room is missing.
	locked := func(share, lock string) int64 {
		return e.insert("type, args, share, locks", "pause", "600", share, "{"+lock+"}")
	}
	locked("c", "db:1=exclusive")
	e.because(locked("c", "db:2=exclusive"), "fair_share", "earlier jobs of its own key")
	locked("d", "")
	mine := locked("c", "db:3=exclusive")
	e.because(mine, "fair_share", "3 starts come", "key d is next")
	e.ok("share", "set", "pause", "d", "10")
	locked("d", "")
	e.because(mine, "fair_share", "4 starts come", "key d is next")

	id := e.insert("type", "nap")
	e.sql("select bellhop.await_event(id, fence, 'paid.42', null) from bellhop.take('{nap}')")
	e.because(id, "awaits_event/ever", "paid.42")
}
