package e2e

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// docs/locks.md, "Keep the order of each customer": one job of a customer at a time, in the order of the INSERTs. One
// that cannot do its work keeps the later ones waiting, and no other customer's; an operator skips it.
func TestOrderKept_AFailureKeepsLaterJobsWaiting(t *testing.T) {
	t.Parallel()
	e := setup(t)
	send := e.file("send", `#!/bin/sh
[ -e "$DIR/works.$1" ] || [ "$1" != stuck ] && [ "$1" != hopeless ] || exit 1
echo "$1" >>"$DIR/sent"`, 0o755)
	deliver := e.file("deliver", "#!/bin/sh\n"+send+` "$1" || echo '{"sleep":"50ms","keep_locks":true}'`, 0o755)
	e.serve(quick(4) + agents(fmt.Sprintf(
		"type: deliver, command: [%s], mode: exec, stdout: json, vars: [CUSTOMER], env: {DIR: %s}, locks: ['customer:${vars.CUSTOMER}=exclusive']",
		deliver, e.dir)))
	e.sql(`insert into bellhop.jobqueue (type, args, vars)
		select 'deliver', a, '{"CUSTOMER":"ann"}'::jsonb from unnest('{one,stuck,two,hopeless,three}'::text[]) with ordinality x (a, n) order by n`)
	e.sql(`insert into bellhop.jobqueue (type, args, vars) values ('deliver', 'other', '{"CUSTOMER":"bob"}')`)
	e.eventually("bob's order is sent", "select state = 'succeeded' from bellhop.jobqueue where args = 'other'")
	id := func(args string) int64 {
		return value[int64](e, "select id from bellhop.jobqueue where args = $1", args)
	}
	e.because(id("two"), "lock_held", fmt.Sprintf("job %d (deliver) holds customer:ann=exclusive", id("stuck")))
	e.eventually("it is tried again and again", "select count(*) > 5 from bellhop.saved_step where job = $1", id("stuck"))
	e.mark("works.stuck")
	e.waitState(id("two"), "succeeded")
	e.eventually("the next one is tried", "select count(*) > 0 from bellhop.saved_step where job = $1", id("hopeless"))
	e.ok("cancel", strconv.FormatInt(id("hopeless"), 10))
	e.waitState(id("three"), "succeeded")
	sent := slices.DeleteFunc(e.lines("sent"), func(s string) bool { return s == "other" })
	if got := strings.Join(sent, " "); got != "one stuck two three" {
		t.Errorf("ann's orders were sent as %q", got)
	}
}
