package e2e

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
)

// witnessed submits so many jobs of lockWitness, with all kinds of locks.
func (e *env) witnessed(luck *rand.Rand, jobs int) {
	e.t.Helper()
	for range jobs {
		locks := someLocks(luck)
		e.sql("insert into bellhop.jobqueue (type, args, locks) values ('work', $1, $2)", strings.Join(locks, " "), locks)
	}
}

// TestLocks_ADatabaseThatCrashes: a grant is as durable as the claim that it comes with. What runs keeps its locks over
// a crash, the kernel sees no two together, and everything ends.
func TestLocks_ADatabaseThatCrashes(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("the agents need python3 (apt-get install python3)")
	}
	const jobs, crashes = 300, 4
	c, e := setupOwn(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	yaml := calm(4) + agents(fmt.Sprintf("type: work, command: [%s], dialect: json, env: {DIR: %s, HOME: %s}",
		e.file("witness", lockWitness, 0o755), e.dir, e.dir))
	e.serve(yaml)
	e.serve(yaml)
	e.witnessed(rand.New(rand.NewPCG(seed, 0)), jobs)
	for n := range crashes {
		e.waitDone(jobs * (n + 1) / (crashes + 1))
		e.restart(c, "immediate")
	}
	e.waitAll(fmt.Sprintf("succeeded %d", jobs))
	if conflicts := e.lines("conflicts"); len(conflicts) > 0 {
		t.Errorf("the kernel saw %d together: %q", len(conflicts), conflicts[:min(5, len(conflicts))])
	}
	e.eventually("nothing is held", "select count(*) = 0 from bellhop.lock")
}

// TestLocks_OrderIsAsConfigured: predictive takes who is in nobody's way before one that came earlier; fifo does not.
func TestLocks_OrderIsAsConfigured(t *testing.T) {
	t.Parallel()
	for order, want := range map[string]string{"predictive": "disk", "fifo": "db"} {
		t.Run(order, func(t *testing.T) {
			t.Parallel()
			e := setup(t)
			e.serve(e.asker(2) + fmt.Sprintf("policy: {order: %s}\n", order))
			e.insert("type, args, locks", "ask", "wait end", "{db:?=exclusive}")
			e.insert("type, args, locks", "ask", "mark both; wait free", "{disk:2=exclusive}")
			e.marked("both")
			db := e.insert("type, args, locks", "ask", "wait end", "{db:1=exclusive}")
			disk := e.insert("type, args, locks", "ask", "wait end", "{disk:1=exclusive}")
			e.mark("free")
			first := map[string]int64{"db": db, "disk": disk}[want]
			e.eventually(want+" is first", "select state in ('assigned', 'running') from bellhop.jobqueue where id = $1", first)
			if s := e.state(db + disk - first); s != "ready" {
				t.Errorf("the other is %s", s)
			}
			e.mark("end")
			e.waitAll("succeeded 4")
		})
	}
}
