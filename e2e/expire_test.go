package e2e

import (
	"fmt"
	"testing"
)

// TestExpire_InsteadOfStartingLate: what has not begun by its not_after never does; what has goes on.
func TestExpire_InsteadOfStartingLate(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.ok("migrate")
	// While nobody was there: it is not the first thing that an instance does.
	early := e.insert("type, args, not_after", "sh", "echo ran >>"+e.dir+"/ran", "2001-01-01T00:00:00Z")
	below := value[int64](e, "select bellhop.submit('sh', 'true', after => array[$1::bigint])", early)
	e.serve("hosts:\n  - {name: local, slots: 1}\n" + agents("type: sh, command: [sh, -c], mode: exec"))
	e.waitState(early, "cancelled")
	e.waitState(below, "failed")
	if ran := e.lines("ran"); len(ran) != 0 {
		t.Error("one that had expired before ran")
	}
	// In the meantime, behind one that takes the only slot, and is itself in time.
	fifo, write := e.fifo("go")
	long := value[int64](e, "select bellhop.submit('sh', $1, not_after => clock_timestamp() + interval '1 s')", "read -r go <"+fifo)
	e.waitState(long, "running")
	waits := e.ok("submit", "sh", "true", "--not-after", "+300ms")
	id := value[int64](e, "select max(id) from bellhop.jobqueue")
	if waits != fmt.Sprintln(id) {
		t.Errorf("it says %q", waits)
	}
	held := value[int64](e, "select bellhop.submit('sh', 'true', held => true, not_after => clock_timestamp() + interval '300 ms')")
	later := value[int64](e, "select bellhop.submit('sh', 'true', not_after => clock_timestamp() + interval '1 h')")
	e.waitState(id, "cancelled")
	e.waitState(held, "cancelled")
	e.eventually("the long one's time has come", "select not_after < clock_timestamp() from bellhop.jobqueue where id = $1", long)
	write("go")
	e.waitState(long, "succeeded")
	e.waitState(later, "succeeded")
	has(t, e.ok("show", fmt.Sprint(later)), "not_after         in ")
	has(t, e.ok("ls", "-s", "succeeded", "-o", "json"), `"not_after": "2`)
	e.typed(e.because(id, "expired", "it had not begun by")) // the advice is to run it all the same
	e.waitState(id, "succeeded")
}
