package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/pgdev/pgtest"
	"bellhop/scheduler"
)

// keeping is a Keep that runs, and what it has said.
type keeping struct {
	o      *env
	shut   chan struct{}
	ended  chan error
	letGo  context.CancelFunc
	closed bool
}

// patientGate waits for the gate for longer than a test takes, so that one Keep does.
func patientGate(e *env) *Gate {
	g := desk(e, NewGate)
	g.way.Settings["lock_timeout"] = "14s" // Keep itself gives up a second later
	return g
}

func (e *env) keep(g *Gate) *keeping {
	ctx, cancel := context.WithCancel(e.Context())
	k := &keeping{o: e, shut: make(chan struct{}), ended: make(chan error, 1), letGo: cancel}
	go func() { k.ended <- g.Keep(ctx, func() { close(k.shut) }) }()
	e.Cleanup(k.end)
	return k
}

// isShut waits until it is told so; a Keep that has waited for long enough is no answer.
func (k *keeping) isShut() {
	k.o.Helper()
	select {
	case <-k.shut:
	case err := <-k.ended:
		k.o.Fatalf("it ended: %v", err)
	case <-time.After(time.Minute):
		k.o.Fatal("the gate is not shut")
	}
}

func (k *keeping) end() {
	k.letGo()
	if !k.closed {
		k.closed = true
		if err := <-k.ended; err != nil {
			k.o.Errorf("Keep: %v", err)
		}
	}
}

// listener counts the rings.
type listener struct {
	o    *env
	conn *pgx.Conn
}

func (e *env) connect() *pgx.Conn {
	e.Helper()
	conn, err := pgx.Connect(e.Context(), e.url)
	if err != nil {
		e.Fatal(err)
	}
	e.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func (e *env) listen() *listener {
	e.Helper()
	l := &listener{e, e.connect()}
	l.do(l.conn, "listen bellhop")
	return l
}

func (l *listener) do(conn *pgx.Conn, text string) {
	l.o.Helper()
	if _, err := conn.Exec(l.o.Context(), text); err != nil {
		l.o.Fatalf("%s: %v", text, err)
	}
}

const insertOne = "insert into bellhop.jobqueue (type) values ('cat')"

// rings does something, and tells how often it rang: a tail behind it says
// that no ring is still on its way.
func (l *listener) rings(do func()) int {
	l.o.Helper()
	do()
	l.do(l.o.conn, "select pg_notify('bellhop', 'mark')")
	for n := 0; ; n++ {
		note, err := l.conn.WaitForNotification(l.o.Context())
		if err != nil {
			l.o.Fatal(err)
		}
		if note.Payload == "mark" {
			return n
		}
	}
}

func (l *listener) rang(what string, want int, do func()) {
	l.o.Helper()
	if got := l.rings(do); got != want {
		l.o.Errorf("%s: it rang %d times, want %d", what, got, want)
	}
}

func TestGate_ProducersRingOnlyWhileItIsKept(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	l, g := e.listen(), desk(e, NewGate)
	insert := func() { l.do(e.conn, insertOne) }
	for range 3 {
		l.rang("open", 0, insert)
		l.rang("open, many rows", 0, func() { l.do(e.conn, "insert into bellhop.jobqueue (type) select 'cat' from generate_series(1, 100)") })
		k := e.keep(g)
		k.isShut()
		l.rang("shut", 1, insert)
		l.rang("shut, two statements of one transaction", 1, func() { l.do(e.conn, "begin; "+insertOne+"; "+insertOne+"; commit") })
		l.rang("shut, rolled back", 0, func() { l.do(e.conn, "begin; "+insertOne+"; rollback") })
		l.rang("shut, no rows of ours", 0, func() { l.do(e.conn, "update bellhop.jobqueue set priority = 1") })
		k.end()
	}
	l.rang("opened again", 0, insert)
}

// Who found it open is waited for, until what he did is seen; who comes
// meanwhile rings.
func TestGate_IsShutWhenNoSilentProducerIsLeft(t *testing.T) {
	t.Parallel()
	for _, isolation := range []string{"read committed", "repeatable read", "serializable"} {
		t.Run(isolation, func(t *testing.T) {
			t.Parallel()
			e := openEnv(t)
			l, g, late := e.listen(), patientGate(e), e.connect()
			l.do(late, "begin isolation level "+isolation)
			l.do(late, "select 1") // its snapshot
			l.rang("open", 0, func() { l.do(late, insertOne) })
			k := e.keep(g)
			e.isAsked()
			l.rang("asked for", 1, func() { l.do(e.conn, insertOne) })
			select {
			case <-k.shut:
				t.Error("it is shut while a silent producer is open")
			default:
			}
			l.rang("the late one", 0, func() { l.do(late, "commit") })
			for {
				select {
				case <-k.shut:
				case err := <-k.ended: // it has waited for long enough: call it anew
					if err != nil {
						t.Fatal(err)
					}
					k.closed = true
					k = e.keep(g)
					continue
				}
				break
			}
			if !e.bool("select count(*) = 2 from bellhop.jobqueue") {
				t.Error("what the late one did is not seen")
			}
		})
	}
}

// While a producer stays open for long, Keep comes back, so that no snapshot is
// held for longer, and the server's log has nothing of it.
func TestGate_WaitsNoLongerThanASecondAtATime(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	l, g, late := e.listen(), desk(e, NewGate), e.connect()
	l.do(late, "begin; "+insertOne)
	for range 2 {
		began := time.Now()
		k := e.keep(g)
		if err := <-k.ended; err != nil || time.Since(began) < gateWait {
			t.Fatalf("after %v: %v", time.Since(began), err)
		}
		k.closed = true
	}
	k := e.keep(patientGate(e))
	e.isAsked()
	k.end() // in the middle of it
	l.do(late, "commit")
	e.isLetGoOf()
	l.rang("let go of", 0, func() { l.do(e.conn, insertOne) })
}

// Several may sleep: who waits behind one who has the gate needs no more.
func TestGate_BehindAnother(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	l := e.listen()
	first, second := desk(e, NewGate), patientGate(e)
	a := e.keep(first)
	a.isShut()
	b := e.keep(second)
	b.isShut()
	insert := func() { l.do(e.conn, insertOne) }
	l.rang("both", 1, insert)
	a.end()
	l.rang("the second alone", 1, insert)
	b.end()
	e.isLetGoOf() // the server may take a moment to hear that a statement was given up
	l.rang("nobody", 0, insert)
}

// A connection that ends opens the gate, and Keep says so: in the midst of the wait, and where
// the wire turns out to be broken.
func TestGate_ConnectionLost(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	l, g := e.listen(), desk(e, NewGate)
	k := e.keep(g)
	k.isShut()
	l.do(e.conn, "select pg_terminate_backend(pid, 10000) from pg_stat_activity where application_name = 'bellhop gate' and datname = current_database()")
	var away *scheduler.Unreachable
	if err := <-k.ended; !errors.As(err, &away) {
		t.Errorf("Keep says %v", err)
	}
	k.closed = true
	l.rang("lost", 0, func() { l.do(e.conn, insertOne) })
	again := e.keep(g)
	again.isShut()
	l.rang("had again", 1, func() { l.do(e.conn, insertOne) })
	again.end()
	_ = g.conn.PgConn().Conn().Close()
	if err := g.Keep(t.Context(), func() {}); !errors.As(err, &away) {
		t.Errorf("on a broken wire Keep says %v", err)
	}
}

// Who has notified and is not through with his commit keeps the others waiting.
func TestGate_SeesACrowd(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Cluster(t) // the lock is the whole server's
	e := &env{TB: t, url: cluster.URL()}
	e.conn = e.connect()
	g := desk(e, NewGate)
	crowded := func() bool {
		is, err := g.Contended(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return is
	}
	if crowded() {
		t.Error("a crowd of nobody")
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	for range 8 {
		conn := e.connect()
		go func() {
			defer func() { done <- struct{}{} }()
			for ctx.Err() == nil {
				_, _ = conn.Exec(t.Context(), "select txid_current(), pg_notify('bellhop', '')")
			}
		}()
	}
	pgtest.Eventually(t, time.Minute, "they wait for each other", crowded)
	stop()
	for range 8 {
		<-done
	}
}

// TestGate_KeyIsTheTriggers: the lock that producers look at is the one that is kept.
func TestGate_KeyIsTheTriggers(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	var text string
	if err := e.conn.QueryRow(t.Context(), "select pg_get_triggerdef(oid) from pg_trigger where tgname = '_900_ring'").Scan(&text); err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("pg_try_advisory_xact_lock_shared('%d'::bigint)", gateKey); !strings.Contains(text, want) {
		t.Errorf("no %s in %s", want, text)
	}
}

// isAsked waits until somebody waits for the gate.
func (e *env) isAsked() {
	e.Helper()
	pgtest.Eventually(e, time.Minute, "the gate is asked for", func() bool {
		return e.bool("select exists (select from pg_locks where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database()))")
	})
}

func (e *env) isLetGoOf() {
	e.Helper()
	pgtest.Eventually(e, time.Minute, "nobody has the gate, or asks for it", func() bool {
		return e.bool("select not exists (select from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database()))")
	})
}

func (e *env) bool(text string) (is bool) {
	e.Helper()
	if err := e.conn.QueryRow(e.Context(), text).Scan(&is); err != nil {
		e.Fatalf("%s: %v", text, err)
	}
	return is
}
