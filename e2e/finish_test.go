package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"bellhop/client/agent"
	"bellhop/client/worker"
)

// teller is an agent that writes rows of its own and ends its job in one transaction: under serve in the dialects json
// and classic, as one process for each job, and inside an app. The test binary is one. Its job's args say how.
type teller struct {
	url  string
	conn *pgx.Conn
}

func openTeller(url string) (*teller, error) {
	l := &teller{url: url}
	return l, l.open()
}

// open connects, and connects again where the server has ended the session: a teller without one would fail each job
// at once, and so get the next before any other teller.
func (l *teller) open() (err error) {
	if l.conn == nil || l.conn.IsClosed() {
		l.conn, err = pgx.Connect(context.Background(), l.url)
	}
	return err
}

// book writes the rows of a job, and ends it, in one transaction.
func (l *teller) book(job *agent.Job[string], fence int64) error {
	ctx := context.Background()
	return pgx.BeginFunc(ctx, l.conn, func(tx pgx.Tx) error {
		// Two sides of one booking.
		if _, err := tx.Exec(ctx, "insert into entry (job, item, amount) values ($1, $2, 5), ($1, $2, -5)", job.ID, job.Item["n"]); err != nil {
			return err
		}
		end := agent.Job[string]{Line: job.Line}
		end.Fence = fence
		switch {
		case job.Item != nil:
			first, err := end.FinishItem(ctx, agent.Pgx(tx), job.Item["n"])
			if err == nil && !first {
				return errDone
			}
			return err
		case strings.HasPrefix(job.Args, "fail") && job.Attempt == 1:
			return end.Fail(ctx, agent.Pgx(tx), agent.RetryIn(0, errors.New("not yet")))
		}
		return end.Finish(ctx, agent.Pgx(tx), job.Attempt)
	})
}

var errDone = errors.New("an earlier run has done it")

// do does one job. What it is told to do wrong must be refused, and leave nothing.
func (l *teller) do(_ context.Context, job *agent.Job[string]) error {
	wrong := func(fence int64, code string) error {
		said := (*pgconn.PgError)(nil)
		if err := l.book(job, fence); !errors.As(err, &said) || said.Code != code {
			return fmt.Errorf("under fence %d: %v, want %s", fence, err, code)
		}
		return nil
	}
	if err := l.open(); err != nil {
		return err
	}
	switch job.Args {
	case "stale":
		if err := wrong(job.Fence-1, "BH004"); err != nil {
			return err
		}
	case "stranger":
		if _, err := l.conn.Exec(context.Background(), "set role stranger"); err != nil {
			return err
		}
		if err := wrong(job.Fence, "42501"); err != nil {
			return err
		}
		if _, err := l.conn.Exec(context.Background(), "reset role"); err != nil {
			return err
		}
	}
	if err := l.book(job, job.Fence); err != nil && err != errDone {
		return err
	}
	switch {
	case job.Args == "twice":
		return wrong(job.Fence, "BH004")
	case job.Args == "die", job.Item["n"] == "7" && job.Attempt == 1 && os.Getenv("ITEM_DIES") != "":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // after the commit, and before OK
	}
	return nil
}

// beTeller is the agent: kind is json, exec, app or take.
func beTeller(kind, url string, args []string) int {
	l, err := openTeller(url)
	if err == nil {
		switch kind {
		case "json":
			err = agent.Serve("teller", l.do)
		case "exec":
			job := &agent.Job[string]{Args: strings.Join(args, " ")}
			job.ID, _ = strconv.ParseInt(os.Getenv("BELLHOP_JOB_ID"), 10, 64)
			job.Fence, _ = strconv.ParseInt(os.Getenv("BELLHOP_FENCE"), 10, 64)
			job.Attempt, _ = strconv.Atoi(os.Getenv("BELLHOP_ATTEMPT"))
			err = l.do(context.Background(), job)
		case "app":
			err = l.inside(url)
		case "take":
			err = l.take(context.Background())
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// inside is an app whose handler is the teller; its instance has another login.
func (l *teller) inside(string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	pool, err := pgxpool.New(ctx, os.Getenv("INSTANCE_URL"))
	if err != nil {
		return err
	}
	defer pool.Close()
	return worker.Run(ctx, pool, worker.Name("teller"), worker.Slots(1), worker.Handle("teller", l.do))
}

// take is a worker by bellhop.take, without an instance.
func (l *teller) take(ctx context.Context) error {
	for ; ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		var job agent.Job[string]
		err := l.conn.QueryRow(ctx, "select id, fence, args from bellhop.take('{book}', 1, '2 s')").Scan(&job.ID, &job.Fence, &job.Args)
		if err == nil {
			err = l.book(&job, job.Fence)
		}
		if err != nil && err != pgx.ErrNoRows {
			return err
		}
	}
	return ctx.Err()
}

// tellers are the kinds of agents that know their job's fence.
var tellers = []string{"json", "exec", "app"}

// tell starts a teller of a kind.
func (e *env) tell(kind, address string, env string) {
	e.t.Helper()
	self, err := os.Executable()
	if err != nil {
		e.t.Fatal(err)
	}
	if kind == "app" {
		e.env = []string{"INSTANCE_URL=" + e.url}
		run := e.script("app", fmt.Sprintf("while ! %s teller app '%s'; do :; done\n", self, address)) // it is started again
		e.background(run)
		return
	}
	mode := map[string]string{"json": "warm", "exec": "exec"}[kind]
	e.serve(quick(2) + agents(fmt.Sprintf("type: teller, mode: %s, command: [%q, teller, %s, %q], env: {ITEM_DIES: %q}", mode, self, kind, address, env)))
}

// Each kind of agent ends its job in the transaction of its own rows: whatever it does afterwards changes nothing, and
// what is refused leaves nothing.
func TestFinish_InTheAgentsOwnTransaction(t *testing.T) {
	t.Parallel()
	for _, kind := range tellers {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			e, address := tellerDatabase(t)
			e.tell(kind, address, "")
			want := map[string]string{}
			for _, args := range []string{"plain", "stale", "stranger", "twice", "fail", "die", "plain after it"} {
				id := e.insert("type, args, max_attempts", "teller", args, 3)
				e.waitState(id, "succeeded")
				want[args] = map[bool]string{true: "2 4", false: "1 2"}[args == "fail"]
				got := value[string](e, `select concat_ws(' ', j.result, (select count(*) from entry where job = j.id))
					from bellhop.jobqueue j where id = $1`, id)
				if got != want[args] {
					t.Errorf("%s: result and entries are %s, want %s", args, got, want[args])
				}
			}
			// The job of the agent that died before its OK stays as it ended.
			e.eventually("no job runs, and its instance has heard", `select not exists (select from bellhop.jobqueue where ended_at is null)
				and not exists (select from bellhop.child where job is not null and state = 'RUNNING')`)
			got := value[string](e, `select string_agg(concat_ws(' ', args, state, attempt, exit_code, lost), ', ' order by id) from bellhop.jobqueue`)
			if want := "plain succeeded 1 0 0, stale succeeded 1 0 0, stranger succeeded 1 0 0, twice succeeded 1 0 0, fail succeeded 2 0 0, " +
				"die succeeded 1 0 0, plain after it succeeded 1 0 0"; got != want {
				t.Errorf("they are\n%s, want\n%s", got, want)
			}
			if sum := value[int](e, "select sum(amount)::int from entry"); sum != 0 {
				t.Errorf("the sum of the ledger is %d", sum)
			}
		})
	}
}

// The items of a query: an agent dies between the commit of an item and its OK, and the instance dies with the query.
// The query runs again, and no item is done twice.
func TestFinish_EachItemOnce(t *testing.T) {
	t.Parallel()
	e, address := tellerDatabase(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	yaml := quick(2) + agents(fmt.Sprintf("type: teller, command: [%q, teller, json, %q], env: {ITEM_DIES: yes}", self, address))
	first := e.serve(yaml)
	id := e.insert("type, msq, max_attempts", "teller", "select n from generate_series(1, 300) n", 3)
	e.eventually("the query has begun", "select count(*) > 40 from entry")
	first.kill()
	e.serve(yaml)
	j := e.waitState(id, "succeeded")
	if j.Total != 300 || j.Done != 300 || j.Failed != 0 {
		t.Errorf("items of the last run: %+v", j)
	}
	got := value[string](e, "select concat_ws(' ', count(*), count(distinct item), sum(amount)) from entry")
	if got != "600 300 0" {
		t.Errorf("entries, items and sum are %s", got)
	}
	if n := value[int](e, "select count(*)::int from bellhop.item_done"); n != 300 {
		t.Errorf("%d items are recorded", n)
	}
	e.sql("delete from bellhop.jobqueue")
	if n := value[int](e, "select count(*)::int from bellhop.item_done"); n != 0 {
		t.Errorf("%d items are kept without their job", n)
	}
}

// tellerDatabase has a ledger, and a login of the teller's that has no right to the queue but to end its jobs.
func tellerDatabase(t *testing.T) (*env, string) {
	t.Helper()
	e, address := workerDatabase(t)
	e.sql(`insert into bellhop.worker_type values ('mailer', 'teller'); create role stranger; grant bellhop_worker to stranger; grant stranger to mailer;
		create table entry (job bigint, item text, amount int); grant select, insert on entry to mailer, stranger`)
	return e, address
}

// background runs a script until the test ends, with all that it started.
func (e *env) background(script string) {
	e.t.Helper()
	cmd := exec.Command(script)
	cmd.Env, cmd.Stderr = append(environment(e.dir), e.env...), e.t.Output()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait() // it was killed
	})
}
