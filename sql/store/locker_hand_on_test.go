package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
	"bellhop/scheduler/lock"
)

// What is free goes to all who may take it, in one claim: nobody waits for a
// further event.

func TestLocks_WhoWasOnlyInItsWayGoesTogether(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"big", "db:*=exclusive", "db:*=shared"} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			e := openEnv(t)
			e.locked(text)
			holder := e.passed(5)
			for i := range 40 {
				e.locked(fmt.Sprintf("db:%d=exclusive", i))
			}
			if got := e.pass(50); len(got) > 0 || len(holder) != 1 {
				t.Fatalf("beside %v started %v", holder, got)
			}
			e.ends(holder...)
			few, rest := e.pass(3), 0
			for got := e.pass(50); len(got) > 0; got = e.pass(50) { // one that takes long rings for the next
				rest += len(got)
			}
			if len(few) != 3 || rest != 37 {
				t.Errorf("%d started, then %d; want 3, and 37", len(few), rest)
			}
		})
	}
}

func TestLocks_AllSharersGoTogether(t *testing.T) {
	t.Parallel()
	templates := must(lock.ParseTemplates([]string{"db:${args}=shared"}, nil))
	for name, submit := range map[string]func(e *env) scheduler.JobID{
		"by the job":   func(e *env) scheduler.JobID { return e.locked("db:a=shared") },
		"by templates": func(e *env) scheduler.JobID { return e.insert("type, args", "'cat', 'a'") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := openEnv(t)
			e.locked("db:a=exclusive")
			writer := e.passed(5)
			e.claimer.Templates = lock.Templates{"cat": templates}
			for range 50 {
				submit(e)
			}
			if got := e.pass(60); len(got) > 0 || len(writer) != 1 {
				t.Fatalf("beside the writer started %v", got)
			}
			e.ends(writer...)
			readers := 0
			for got := e.pass(60); len(got) > 0; got = e.pass(60) { // one that takes long rings for the next
				readers += len(got)
			}
			if readers != 50 {
				t.Errorf("%d readers started, want all 50", readers)
			}
		})
	}
}

func TestLocks_APlaceThatItsFirstCannotTakeGoesToTheNext(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	limited := func(locks string) scheduler.JobID {
		return e.insert("type, reasons, locks", fmt.Sprintf("'cat', '{rate-limit:2:mail}', '{%s}'", locks))
	}
	e.locked("db:x=exclusive")
	x := e.passed(1)
	limited("")
	limited("")
	if got := e.passed(5); len(got) != 2 || len(x) != 1 {
		t.Fatalf("%v run", ids(got))
	} else {
		blocked, next := limited("db:x=exclusive"), limited("")
		e.pass(5)
		e.ends(got[0])
		if got := e.pass(5); !slices.Equal(got, []scheduler.JobID{next}) {
			e.want(blocked, "behind", "db:x")
			t.Errorf("%v start, want %v", got, next)
		}
	}
}

// A turn that nobody takes (its type is paused, or has no room) keeps nobody
// waiting for ever.
func TestLocks_ATurnThatNobodyTakesPasses(t *testing.T) {
	t.Parallel()
	for name, columns := range map[string][2]string{
		"a lock":  {"type, locks", "'%s', '{db:a=exclusive}'"},
		"a limit": {"type, reasons", "'%s', '{rate-limit:1:mail}'"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := openEnv(t)
			submit := func(typ string) scheduler.JobID { return e.insert(columns[0], fmt.Sprintf(columns[1], typ)) }
			both := demand(5)
			both.Locked = true
			both.Types = append(slices.Clone(both.Types), scheduler.TypeDemand{Type: "dog", Limit: 5})
			submit("cat")
			holder := e.claim(both)
			first, second, cat := submit("dog"), submit("dog"), submit("cat")
			if got := e.claim(both); len(got) > 0 || len(holder) != 1 {
				t.Fatalf("beside %v started %v", ids(holder), ids(got))
			}
			e.ends(holder...)
			if got := e.pass(5); len(got) > 0 { // there is no room for dogs, whose turn it is
				t.Fatalf("%v started before their turn", got)
			}
			e.exec("update bellhop.lock_grant set since = now() - interval '3 s'")
			if _, err := e.maintenance.RunCommands(t.Context(), e.me); err != nil { // the safety scan's round
				t.Fatal(err)
			}
			got := e.passed(5)
			if !slices.Equal(ids(got), []scheduler.JobID{cat}) {
				t.Fatalf("%v start, want %v", ids(got), cat)
			}
			e.ends(got...)
			for _, next := range []scheduler.JobID{first, second} {
				dogs := e.claim(both)
				if !slices.Equal(ids(dogs), []scheduler.JobID{next}) {
					t.Fatalf("%v start, want %v", ids(dogs), next)
				}
				e.ends(dogs...)
			}
		})
	}
}

func TestLocks_WhoWaitsForARoundAgainMakesNoFurtherPass(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.register("second", time.Minute) // for whom passes would ring
	e.locked("db:a=exclusive")
	a := e.passed(5)
	e.locked("db:b=exclusive")
	e.passed(5)
	old := e.locked("db:a=exclusive", "db:b=exclusive")
	e.exec("update bellhop.jobqueue set created_at = now() - interval '1 hour' where id = $1", int64(old))
	e.pass(5)
	if _, err := e.maintenance.RunCommands(t.Context(), e.me); err != nil {
		t.Fatal(err)
	}
	young := e.locked("db:a=exclusive")
	e.pass(5)
	e.ends(a...)
	e.exec("listen bellhop")
	if got := e.pass(5); len(got) > 0 { // old waits for b, and young comes after it
		t.Fatalf("%v start", got)
	}
	e.want(young, "behind", "db:a")
	e.exec("notify bellhop, 'last'")
	rings := 0
	for {
		n, err := e.conn.WaitForNotification(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n.Payload == "last" {
			break
		}
		if n.Payload == "locks" && n.PID != e.conn.PgConn().PID() {
			rings++
		}
	}
	if rings > 1 { // one for whoever may take what a pass leaves
		t.Errorf("the pass rang %d times", rings)
	}
}

func TestLocks_WhoStopsInTheMidstOfAPassKeepsNobodyWaiting(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	id := e.locked("db:a=exclusive")
	frozen := desk(e, NewClaimer)
	err := frozen.conn.use(t.Context(), func(ctx context.Context, conn *pgx.Conn) error {
		p := pass{claimer: frozen, me: e.me, demand: demand(1), look: 1}
		if _, _, err := p.read(ctx, conn); err != nil {
			return err
		}
		if got := e.pass(5); !slices.Equal(got, []scheduler.JobID{id}) {
			t.Errorf("%v start, want %v", got, id)
		}
		_, err := conn.Exec(ctx, "select 1")
		return err
	})
	if err == nil {
		t.Error("the one that stopped has its transaction still")
	}
}

func TestLocks_UnreadableOnesKeepBackNoneThatAreReadableByNow(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.claimer.Policy.Levels = lock.Levels{"db"}
	for range 40 {
		e.locked("disk:a=shared")
	}
	id := e.locked("net:a=shared")
	if got := e.pass(50); len(got) > 0 {
		t.Fatalf("%v started", got)
	}
	e.claimer.Policy.Levels = lock.Levels{"db", "net"}
	if _, err := e.maintenance.RunCommands(t.Context(), e.me); err != nil {
		t.Fatal(err)
	}
	if got := e.pass(50); !slices.Equal(got, []scheduler.JobID{id}) {
		t.Errorf("%v start, want %v", got, id)
	}
}

func TestLocks_ALimitPerTimeSaysWhenItLetsTheNextStart(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec(`select bellhop.filter_add('RATE_LIMIT 2 per 1h', '[]')`)
	for range 3 {
		e.locked()
	}
	if got := e.pass(1); len(got) != 1 || e.claimer.later.limit != 0 {
		t.Fatalf("%d started, and the next has to wait for %v", len(got), e.claimer.later.limit)
	}
	if got, wait := e.pass(5), e.claimer.later.limit; len(got) != 1 || wait < 59*time.Minute || wait > time.Hour {
		t.Fatalf("%d started, and the next has to wait for %v", len(got), wait)
	}
	if got, wait := e.pass(5), e.claimer.later.limit; len(got) != 0 || wait < 59*time.Minute || wait > time.Hour {
		t.Errorf("%d started, and the next has to wait for %v", len(got), wait)
	}
	e.exec("update bellhop.lock_grant set since = since - interval '1 h', until = until - interval '1 h'")
	if got := e.pass(5); len(got) != 1 {
		t.Errorf("%d started after the hour", len(got))
	}
}

// Whoever stands before them in their queue by a better priority may be after
// them by now: jobs that are reserved for are looked at wherever they wait.
func TestLocks_TwoThatAreReservedForDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	submit := func(priority int, locks string) scheduler.JobID {
		return e.insert("type, priority, locks, created_at",
			fmt.Sprintf("'cat', %d, '{%s}', now() - interval '2 h'", priority, locks))
	}
	e.locked("big")
	holder := e.passed(5)
	first := submit(5, "db:a=exclusive")
	for range 40 {
		submit(-5, "db:a=exclusive")
	}
	big := submit(-6, "big")
	if got := e.pass(50); len(got) > 0 || len(holder) != 1 {
		t.Fatalf("%v started", got)
	}
	e.exec("update bellhop.jobqueue set created_at = created_at - interval '20 h' where id = $1", int64(first))
	if _, err := e.maintenance.RunCommands(t.Context(), e.me); err != nil {
		t.Fatal(err)
	}
	e.ends(holder...)
	for _, want := range []scheduler.JobID{first} {
		got := e.passed(50)
		if !slices.Equal(ids(got), []scheduler.JobID{want}) {
			t.Fatalf("%v start, want %v", ids(got), want)
		}
		e.ends(got...)
	}
	left := 0
	for range 60 {
		got := e.passed(50)
		if len(got) == 0 {
			break
		}
		left += len(got)
		e.ends(got...)
	}
	if left != 41 {
		e.want(big, "state", "succeeded")
		t.Errorf("%d of the others were run, want 41", left)
	}
}

// Whoever waits behind a lock that is kept free says for whom, and not who had it.
func TestLocks_WhoeverALockIsKeptForIsTold(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.locked("db:a=exclusive")
	a := e.passed(5)
	e.locked("db:b=shared")
	b := e.passed(5)
	old := e.locked("db:a=shared", "db:b=exclusive")
	e.exec("update bellhop.jobqueue set created_at = now() - interval '1 h' where id = $1", int64(old))
	e.pass(5)
	writer := e.locked("db:a=exclusive")
	e.pass(5)
	if _, err := e.maintenance.RunCommands(t.Context(), e.me); err != nil {
		t.Fatal(err)
	}
	e.ends(a...)
	if got := e.pass(5); len(got) > 0 {
		t.Fatalf("%v start", got)
	}
	if why := e.column(writer, "waiting_for"); !strings.HasPrefix(why, fmt.Sprintf("lock_reserved: db:a=exclusive, and job %d", old)) {
		t.Errorf("the writer waits for %q", why)
	}
	e.ends(b...)
	for _, next := range []scheduler.JobID{old, writer} {
		got := e.passed(5)
		if !slices.Equal(ids(got), []scheduler.JobID{next}) {
			t.Fatalf("%v start, want %v", ids(got), next)
		}
		e.ends(got...)
	}
}
