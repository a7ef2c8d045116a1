package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"bellhop/client/agent"
	"bellhop/client/worker"
	"bellhop/pgdev/pgtest"
)

// appSlots is how many jobs the app of these tests does at once.
const appSlots = 4

// beApp is an app with handlers for what the journal's agents do, and for items: the
// test binary is one too.
func beApp(url, journal, dir string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	w, wrong := openWork(journal)
	pool, err := pgxpool.New(ctx, url)
	if err = errors.Join(wrong, err); err == nil {
		defer pool.Close()
		work := func(_ context.Context, job *agent.Job[string]) error {
			if !w.do(entry{job: job.ID, fence: job.Fence, attempt: job.Attempt}, job.Args) {
				return errors.New("as it was told")
			}
			return nil
		}
		err = worker.Run(ctx, pool, worker.Name("app"), worker.Slots(appSlots),
			worker.Handle("work", work), worker.Handle("one", work, worker.Max(1)),
			worker.Handle("items", func(_ context.Context, job *agent.Job[string]) error {
				ran, err := os.OpenFile(filepath.Join(dir, "ran"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
				if err == nil {
					_, err = fmt.Fprintf(ran, "n=%q\n", job.Item["n"])
					err = errors.Join(err, ran.Close())
				}
				return err
			}))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// app starts such an app, and waits until it has registered.
func (e *env) app(j *journal) *instance {
	e.t.Helper()
	self, err := os.Executable()
	if err != nil {
		e.t.Fatal(err)
	}
	e.runs++
	i := &instance{b: e, dir: filepath.Join(e.dir, fmt.Sprintf("app-%d", e.runs)), exited: make(chan struct{})}
	if err := os.Mkdir(i.dir, 0o755); err != nil {
		e.t.Fatal(err)
	}
	i.cmd = exec.Command(self, "app", e.url, j.dir, e.dir)
	i.cmd.Dir, i.cmd.Env, i.cmd.Stderr = i.dir, environment(i.dir), i
	if err := i.cmd.Start(); err != nil {
		e.t.Fatal(err)
	}
	go func() {
		defer close(i.exited)
		_ = i.cmd.Wait() // how it ended is in ProcessState
	}()
	e.t.Cleanup(func() {
		i.stop()
		if e.t.Failed() {
			e.t.Logf("the app said:\n%s", i.said())
		}
	})
	pgtest.Eventually(e.t, patience, "the app is registered", func() bool {
		return e.pool.QueryRow(e.t.Context(), "select id from bellhop.instance where pid = $1 and state = 'live'",
			i.cmd.Process.Pid).Scan(&i.id) == nil
	})
	return i
}

// behindPipes are the same types, as agents of `bellhop serve`.
func (e *env) behindPipes(j *journal) string {
	return agents(j.agent("work", "warm"), j.agent("one", "warm")+", max: 1",
		"type: items, command: ["+e.worker("items", note)+"]")
}

// runUnder waits until exactly n jobs run under an instance.
func (e *env) runUnder(i *instance, n int) {
	e.t.Helper()
	e.eventually(fmt.Sprintf("%d jobs run under instance %d", n, i.id),
		"select count(*) = $2 from bellhop.jobqueue where state = 'running' and instance = $1", i.id, n)
}

// goThrough lets whoever is there do jobs that wait for a lock, the items of a
// query, and jobs of other priorities one after the other.
func (e *env) goThrough(j *journal) {
	e.t.Helper()
	if err := os.Remove(filepath.Join(e.dir, "ran")); err != nil && !os.IsNotExist(err) {
		e.t.Fatal(err)
	}
	seen := len(j.entries())
	locked := column[int64](e, `insert into bellhop.jobqueue (type, args, locks)
		select 'work', '5ms', '{db:till=exclusive}' from generate_series(1, 12) returning id`)
	query := e.insert("type, msq", "items", numbers(200))
	wanted := []int64{}
	for _, priority := range []int{3, -7, 12, 0, -20, 19} {
		wanted = append(wanted, e.insert("type, args, priority, held", "one", "1ms", priority, true))
	}
	e.sql("update bellhop.jobqueue set held = false where held")
	e.sql("notify bellhop")
	e.eventually("all are over", "select count(*) = 0 from bellhop.jobqueue where state not in ('succeeded', 'failed')")
	if n := value[int](e, "select count(*) from bellhop.jobqueue where state <> 'succeeded' or attempt <> 1"); n > 0 {
		e.t.Errorf("%d jobs did not succeed at once:\n%s", n, e.whoRuns())
	}
	e.counts(e.job(query), 200, 200, 0)
	once(e.t, e.lines("ran"), 200)

	var begun []int64
	var inside int64 // the job that has the lock
	for _, line := range j.entries()[seen:] {
		switch {
		case slices.Contains(wanted, line.job) && line.what == "start":
			begun = append(begun, line.job)
		case !slices.Contains(locked, line.job):
		case line.what == "start" && inside != 0:
			e.t.Errorf("job %d was begun while job %d had the lock", line.job, inside)
		case line.what == "start":
			inside = line.job
		default:
			inside = 0
		}
	}
	if want := []int64{wanted[4], wanted[1], wanted[3], wanted[0], wanted[2], wanted[5]}; !slices.Equal(begun, want) {
		e.t.Errorf("begun in the order %v, want %v", begun, want)
	}
}

// TestInside_AppAndServeShareTheWork: jobs of one type are worked off by handlers
// and by agents, each once; locks, items and priorities hold over both, and in each.
func TestInside_AppAndServeShareTheWork(t *testing.T) {
	t.Parallel()
	e, j := setup(t), newJournal(t)
	served := e.serve(calm(8) + e.behindPipes(j))
	app := e.app(j)
	e.insertMany(8+appSlots, "early") // neither has room for all
	e.runUnder(served, 8)
	e.runUnder(app, appSlots)
	j.letGoEarly()
	e.insertMany(400, "2ms")
	e.waitAll("succeeded 412")
	j.once()
	inApp := 0
	for _, line := range j.entries() {
		if line.what == "end" && line.pid == app.cmd.Process.Pid {
			inApp++
		}
	}
	t.Logf("%d of 412 were done inside the app", inApp)
	e.goThrough(j)

	app.stop()
	e.goThrough(j)
	e.app(j)
	served.stop()
	e.goThrough(j)
	j.once()
	j.check(1)
	has(t, strings.Join(column[string](e, "select mode from bellhop.agent"), " "), "warm", "handler")
}

// TestInside_AppAndServeTakeOverFromEachOther: what was lost with the other is begun
// again under a new fence, and is no attempt.
func TestInside_AppAndServeTakeOverFromEachOther(t *testing.T) {
	t.Parallel()
	e, j := setup(t), newJournal(t)
	app := e.app(j)
	e.insertMany(appSlots, "hold")
	e.runUnder(app, appSlots)
	served := e.serve(quick(8) + e.behindPipes(j))
	e.elsewhere(app) // so that its lease alone tells that it is dead
	e.beats(served, 2)
	app.kill()
	e.runUnder(served, appSlots)
	// The app's lag is 10 s; then a beat, and the rest is for a busy machine.
	if silence := e.silence(app); silence < 10*time.Second || silence > 22*time.Second {
		t.Errorf("buried after %v of silence; its lag is 10 s", silence)
	}

	app = e.app(j)
	served.kill()
	served.gone()
	e.runUnder(app, appSlots)
	if silence := e.silence(served); silence > 30*time.Second {
		t.Errorf("buried after %v of silence, though its process was gone", silence)
	}
	j.letGo()
	e.waitAll(fmt.Sprintf("succeeded %d", appSlots))
	if n := value[int](e, "select count(*) from bellhop.jobqueue where attempt <> 1 or fence <> 3"); n > 0 {
		t.Errorf("%d jobs count what was lost as an attempt, or have another fence than 3:\n%s", n, e.whoRuns())
	}
	j.check(1)
	j.proves(e)
}
