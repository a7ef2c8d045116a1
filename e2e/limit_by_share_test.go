package e2e

import (
	"strconv"
	"testing"
)

// TestFilters_ALimitForEachShare: one job of each share runs at once, and explain names the share that is full.
func TestFilters_ALimitForEachShare(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve("hosts:\n  - {name: local, slots: 4}\n" + agents("type: pause, command: [sleep], mode: exec"))
	e.ok("filter", "add", "--action", "RATE_LIMIT 1 by share", "--predicate", `["opcode",["=","type","pause"]]`)
	holder := e.insert("type, args, share", "pause", "600", "a")
	e.waitState(holder, "running")
	waits := e.insert("type, args, share", "pause", "0", "a")
	e.typed(e.because(waits, "rate_limited/filter", "RATE_LIMIT 1 by share", `with share "a"`))
	e.waitState(e.insert("type, args, share", "pause", "0", "b"), "succeeded")
	e.waitState(e.insert("type, args", "pause", "0"), "succeeded")
	e.ok("cancel", "--now", strconv.FormatInt(holder, 10))
	e.waitState(waits, "succeeded")
}
