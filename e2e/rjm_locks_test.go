package e2e

import "testing"

// TestRJM_JobsWithOneLockNeverRunAtOnce: on whichever hosts; who shares it does, and others pass by.
func TestRJM_JobsWithOneLockNeverRunAtOnce(t *testing.T) {
	t.Parallel()
	e := setup(t)
	// The kernel tells whether two have the file at once, whatever bellhop believes.
	const tasks = `task_work() { exec 9>"$DIR/lock"; flock -n $how 9 || echo "$BELLHOP_KEY" >>"$DIR/conflicts"; sleep 0.02; echo ran >>"$DIR/ran"; }`
	north, south := e.site("north", tasks), e.site("south", tasks)
	for _, s := range []*site{north, south} {
		s.run("rjmd")
		s.run("rjmproc", "-i", "1")
		s.run("rjmproc", "-i", "2")
	}
	north.does(`for n in 1 2 3 4 5 6 7 8; do
  rjmsetup work.$n <<< "how=-x; rjm_locks=(file:one=exclusive)"; rjmgo work.$n
  rjmsetup work.s$n --set how=-s --lock file:one=shared; rjmgo work.s$n
done`)
	e.waitAll("succeeded 16")
	if conflicts := e.lines("conflicts"); len(conflicts) > 0 {
		t.Errorf("at once: %v", conflicts)
	}
	if n := len(e.lines("ran")); n != 16 {
		t.Errorf("%d ran", n)
	}
}
