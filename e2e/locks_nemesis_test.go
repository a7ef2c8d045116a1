package e2e

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler/lock"
)

var lockJobs = flag.Int("lock-jobs", 600, "how many jobs TestLocks_Nemesis submits")

// lockWitness is an agent that has the kernel watch what its jobs hold: bytes of a
// file, one a name, a range for all names of a level, and one for big. A process
// that is killed has them until it is dead.
const lockWitness = `#!/usr/bin/env python3
import fcntl, json, os, sys, time
d = os.environ["DIR"]
kernel = os.open(d + "/kernel", os.O_CREAT | os.O_RDWR, 0o644)
LEVELS, NAMES = {"db": 100, "disk": 200}, 50
def places(locks):
    yield fcntl.LOCK_EX if "big" in locks else fcntl.LOCK_SH, 1, 0
    for text in sorted((t for t in locks if t != "big"), key=lambda t: not t.endswith("=shared")):
        level, rest = text.split(":", 1)
        name, mode = rest.rsplit("=", 1)
        mode = fcntl.LOCK_EX if mode == "exclusive" else fcntl.LOCK_SH
        if name == "*":
            yield mode, NAMES, LEVELS[level]
        elif name != "?":
            yield mode, 1, LEVELS[level] + int(name)
print('{"bellhop":1}', flush=True)
for line in sys.stdin:
    job = json.loads(line)
    locks = job["args"].split()
    for mode, size, at in places(locks):
        try:
            fcntl.lockf(kernel, mode | fcntl.LOCK_NB, size, at)
        except OSError:
            with open(d + "/conflicts", "a") as f:
                f.write("%d %s\n" % (job["id"], job["args"]))
    time.sleep(0.002 + job["id"] % 10 / 1000)
    fcntl.lockf(kernel, fcntl.LOCK_UN, 0, 0)
    print('{"ok":true}', flush=True)
`

// TestLocks_Nemesis: three instances work off jobs of all kinds of locks, and one
// after the other is killed. The kernel never sees two jobs together that may not
// be, nor does who looks at bellhop.lock; all jobs end; and none waits longer than
// the theorem says (scheduler/lock, Select).
func TestLocks_Nemesis(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("the agents need python3 (apt-get install python3)")
	}
	seed := *nemesisSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("go test ./e2e -run TestLocks_Nemesis -seed %d -nemesis-duration %s -lock-jobs %d", seed, *nemesisDuration, *lockJobs)
	luck := rand.New(rand.NewPCG(seed, 0))
	e := setup(t)
	// A job is aged after 2 s, and its priority is the best there is after 3.9 s.
	const horizon, priorityTick = 2 * time.Second, 100 * time.Millisecond
	yaml := "instance: {heartbeat: 200ms, lag: 1s}\nhosts:\n  - {name: local, slots: 4}\n" +
		"limits: {kill_after: 1s, min_ready: 100ms, window: 3s, deaths: 0}\n" +
		"policy: {tick: 1s, ageing_ticks: 2, priority_tick: 100ms}\n" +
		agents(fmt.Sprintf("type: work, command: [%s], dialect: json, env: {DIR: %s, HOME: %s}",
			e.file("witness", lockWitness, 0o755), e.dir, e.dir))
	var victims []*instance
	for range 3 {
		victims = append(victims, e.serve(yaml))
	}
	ctx, cancel := context.WithCancel(t.Context())
	sampled := make(chan lockSample)
	go func() { sampled <- e.samplesLocks(ctx) }()

	submitted, kills := 0, 0
	steps := int(*nemesisDuration / (50 * time.Millisecond))
	for step := range steps {
		for due := *lockJobs * (step + 1) / steps; submitted < due; submitted++ {
			locks := someLocks(luck)
			e.sql("insert into bellhop.jobqueue (type, args, locks, priority) values ('work', $1, $2, $3)",
				strings.Join(locks, " "), locks, luck.IntN(5)-2)
		}
		if luck.IntN(20) == 0 {
			n := luck.IntN(len(victims))
			victims[n].kill()
			victims[n] = e.serve(yaml)
			kills++
		}
		time.Sleep(50 * time.Millisecond) // the pace of the harm, no event to wait for
	}
	e.waitAll(fmt.Sprintf("succeeded %d", *lockJobs))
	cancel()
	sample := <-sampled
	if sample.seen == 0 {
		t.Error("no job was ever seen to hold a lock")
	}
	t.Logf("%d jobs, %d kills, locks seen %d times", *lockJobs, kills, sample.seen)
	if conflicts := e.lines("conflicts"); len(conflicts) > 0 {
		t.Errorf("the kernel saw %d together: %q", len(conflicts), conflicts[:min(5, len(conflicts))])
	}
	e.boundHolds(max(horizon, 39*priorityTick), sample.longest)
	e.eventually("nothing is held", "select count(*) = 0 from bellhop.lock")
}

// someLocks are what a job asks for.
func someLocks(luck *rand.Rand) []string {
	if luck.IntN(100) == 0 {
		return []string{"big"}
	}
	wants := map[string]string{}
	for range 1 + luck.IntN(3) {
		name := fmt.Sprint(luck.IntN(8))
		switch luck.IntN(40) {
		case 0:
			name = "*"
		case 1:
			name = "?"
		}
		wants[[]string{"db", "disk"}[luck.IntN(2)]+":"+name] = []string{"shared", "exclusive"}[luck.IntN(2)]
	}
	var list []string
	for what, mode := range wants {
		list = append(list, what+"="+mode)
	}
	return list
}

// lockSample is what samplesLocks has seen.
type lockSample struct {
	seen    int           // holders, each as often as it was seen
	longest time.Duration // of one job with its locks, from its claim on: its child may have to start
}

// samplesLocks reads the locks of all jobs, again and again, until ctx ends.
func (e *env) samplesLocks(ctx context.Context) (s lockSample) {
	conn, err := pgx.Connect(ctx, e.url)
	if err != nil {
		e.t.Error(err)
		return s
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	for ctx.Err() == nil {
		rows, _ := conn.Query(ctx, `select job, array_agg(case level when 'big' then 'big' else format('%s:%s=%s', level, name, mode) end),
			clock_timestamp() - min(since) from bellhop.lock where mode <> 'slot' group by job`)
		sets := map[int64]lock.Set{}
		var job int64
		var texts []string
		var held time.Duration
		if _, err := pgx.ForEachRow(rows, []any{&job, &texts, &held}, func() (err error) {
			sets[job], err = lock.ParseAll(texts, nil)
			s.longest = max(s.longest, held)
			return err
		}); err != nil && ctx.Err() == nil {
			e.t.Error(err)
			return s
		}
		for a, x := range sets {
			for b, y := range sets {
				if is, why := lock.Conflicts(x, y); is && a < b {
					e.t.Errorf("jobs %d and %d hold locks at once that conflict: %s", a, b, why)
				}
			}
		}
		s.seen += len(sets)
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond): // how often it looks, no event to wait for
		}
	}
	return s
}

// boundHolds compares each job's start with the theorem's: a job that came at t₀
// starts no later than t₁ + (A+1)·D, where t₁ is t₀ + horizon, and A how many with
// lower ids wait at t₁. D is the longest time that one job held its locks, and the
// longest in which no job began: the machine was busy, or all instances were dead.
func (e *env) boundHolds(horizon, longest time.Duration) {
	e.t.Helper()
	type row struct{ came, began time.Time }
	conn, err := pgx.Connect(e.t.Context(), e.url)
	if err != nil {
		e.t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(e.t.Context())) }()
	rows, _ := conn.Query(e.t.Context(), "select created_at, started_at from bellhop.jobqueue order by id")
	jobs, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (j row, err error) {
		return j, r.Scan(&j.came, &j.began)
	})
	if err != nil {
		e.t.Fatal(err)
	}
	worst, still := time.Duration(0), time.Duration(0)
	for _, j := range jobs {
		worst = max(worst, j.began.Sub(j.came))
	}
	begins := slices.SortedFunc(slices.Values(jobs), func(a, b row) int { return a.began.Compare(b.began) })
	for i, j := range begins[1:] {
		still = max(still, j.began.Sub(begins[i].began))
	}
	for i, j := range jobs {
		aged, ahead := j.came.Add(horizon), 0
		for _, other := range jobs[:i] {
			if other.began.After(aged) {
				ahead++
			}
		}
		if bound := aged.Add(time.Duration(ahead+1) * (longest + still)); j.began.After(bound) {
			e.t.Errorf("job %d waited for %v, %v longer than it may", i, j.began.Sub(j.came), j.began.Sub(bound))
		}
	}
	e.t.Logf("the longest time with locks %v, the longest wait %v, no job began for %v", longest, worst, still)
}
