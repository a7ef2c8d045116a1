package e2e

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"bellhop/pgdev/pgtest"
	"bellhop/pgdev/wire"
)

var workflowsNemesis = flag.Duration("workflows-nemesis", 15*time.Second,
	"how long TestWorkflows_Nemesis kills, freezes and cuts off instances")

// Instances are killed, frozen for longer than their lag, and cut off, while workflows come and go: no slot is lost
// or comes to two runs, no workflow is with two, and when it is quiet each is with a live one, evenly. (Clocks that
// are off are not here: no statement takes an instance's time, and libfaketime does not reach a Go program.)
func TestWorkflows_Nemesis(t *testing.T) {
	t.Parallel()
	e := setup(t)
	line, url := through(t, e.url)
	config := quick(4) + agents("type: sh, command: [sh, -c], mode: exec") + fmt.Sprintf("database: {url: %q}\n", url)
	var text strings.Builder
	for i := range 9 {
		args := `"true"`
		if i >= 6 { // those are the first that would move
			args = "sleep 2" // a run of it is open nearly always
		}
		fmt.Fprintf(&text, "---\nworkflow: w%d\nsensor: {cron: \"* * * * * *\", catch_up: all}\n"+
			"steps: [{name: a, type: sh, args: %s}]\n", i, args)
	}
	e.file("nine.yaml", text.String(), 0o600)
	e.file("guest.yaml", "workflow: guest\nsensor: {every: 1s}\nsteps: [{name: a, type: sh, args: \"true\"}]\n", 0o600)
	servers := []*instance{e.serve(config), e.serve(config), e.serve(config)}
	e.recordsMoves()
	e.ok("workflow", "apply", filepath.Join(e.dir, "nine.yaml"))
	ctx, cancel := context.WithCancel(t.Context())
	sampled := make(chan int, 1)
	go func() { sampled <- e.samplesOwners(ctx) }()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	luck := rand.New(rand.NewPCG(seed, 1))
	// A machine that is slow loses leases of all instances at once, and none moves: it goes on until one has.
	end := time.Now().Add(*workflowsNemesis)
	for time.Now().Before(end) || moved(e) == 0 && time.Now().Before(end.Add(2*time.Minute)) {
		victim := luck.IntN(len(servers))
		switch luck.IntN(4) {
		case 0:
			servers[victim].kill()
			servers[victim] = e.serve(config)
		case 1:
			pgtest.Freeze(t, servers[victim].cmd.Process.Pid)
			time.Sleep(quickLag + time.Duration(luck.IntN(2000))*time.Millisecond) // it is taken for dead
			servers[victim].signal(syscall.SIGCONT)
		case 2:
			line.Set(wire.Fault{Silent: true})
			time.Sleep(time.Duration(luck.IntN(int(quickLag)))) // the database is out of reach
			line.Set(wire.Fault{})
			line.Reset("")
		case 3:
			e.ok("workflow", "apply", filepath.Join(e.dir, "guest.yaml"))
			time.Sleep(time.Duration(luck.IntN(2000)) * time.Millisecond) // it is there for a while
			e.ok("workflow", "deactivate", "guest")
		}
	}
	line.Reset("")
	e.eventually("three have three each", `select (select array_agg(n order by n) from (select (select count(*) from bellhop.workflow w
		where w.active and w.instance = i.id) n from bellhop.instance i where i.state = 'live') x) = '{3,3,3}'::bigint[]`)
	e.eventually("all slots are seen to", "select not exists (select from bellhop.sensor where next_fire < clock_timestamp() - interval '3 s')")
	e.ok("workflow", "deactivate", "*")
	e.eventually("the runs are over, but for those that wait until their workflow is active again",
		"select not exists (select from bellhop.run where state = 'running' or state = 'queued' and reason is null)")
	cancel()
	if seen := <-sampled; seen == 0 {
		t.Error("nobody was ever seen to own a workflow")
	}
	moves := moved(e)
	t.Logf("%d moves from one instance to another", moves)
	if moves == 0 {
		t.Error("no workflow ever moved")
	}
	if bad := column[string](e, "select workflow || ' from ' || was || ' to ' || coalesce(becomes::text, 'nobody') from e2e_move where lives and busy"); len(bad) > 0 {
		t.Errorf("moved from a live owner amid a run: %q", bad)
	}
	if bad := column[string](e, `select workflow || ' ' || n || ' of ' || want from (select workflow, count(*) as n,
		1 + extract(epoch from max(slot) - min(slot))::int as want from bellhop.event where workflow <> 'guest' group by workflow) x where n <> want`); len(bad) > 0 {
		t.Errorf("slots were lost or doubled: %q", bad)
	}
	if n := value[int](e, "select (select count(*) from bellhop.event) - (select count(*) from bellhop.run)"); n != 0 {
		t.Errorf("%d more events than runs", n)
	}
	if n := value[int](e, "select count(*) - count(distinct (run, step)) from bellhop.jobqueue where step is not null"); n != 0 {
		t.Errorf("%d steps are there twice", n)
	}
}

// recordsMoves has each change of a workflow's owner written down by the transaction that makes it: whether the owner
// before it was live, and whether a run was open. One that began within a second before that transaction may have come
// about after it had looked, and does not count.
func (e *env) recordsMoves() {
	e.sql(`create table e2e_move (workflow text, was bigint, becomes bigint, lives boolean, busy boolean)`)
	e.sql(`create function e2e_moved() returns trigger language plpgsql security definer set search_path = public, pg_catalog as $$
		begin
		  insert into e2e_move
		  select new.name, old.instance, new.instance,
		         exists (select from bellhop.instance i where i.id = old.instance and i.state = 'live'),
		         exists (select from bellhop.run r where r.workflow = new.name and r.state in ('queued', 'running')
		                    and r.created_at < now() - interval '1 s');
		  return null;
		end $$`)
	e.sql(`create trigger e2e_moved after update of instance on bellhop.workflow for each row
		when (old.instance is distinct from new.instance) execute function e2e_moved()`)
}

// samplesOwners looks every 20 ms: no run of one workflow may be running beside another one. How often it saw that one
// had an owner.
func (e *env) samplesOwners(ctx context.Context) (seen int) {
	for ctx.Err() == nil {
		var owned, twice int
		err := e.pool.QueryRow(ctx, `select (select count(instance) from bellhop.workflow),
			(select count(*) from (select workflow from bellhop.run where state = 'running' group by workflow having count(*) > 1) x)`).
			Scan(&owned, &twice)
		if err == nil {
			seen += owned
			if twice > 0 {
				e.t.Errorf("%d workflows have two runs that are running", twice)
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	return seen
}

// moved counts the moves of workflows from one instance to another.
func moved(e *env) int {
	return value[int](e, "select count(*) from e2e_move where was is not null")
}
