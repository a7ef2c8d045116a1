package simulation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/pgdev/pgtest"
	"bellhop/scheduler"
	"bellhop/sql/migrate/migrated"
	"bellhop/sql/store"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// oracle makes the same calls of a real PostgreSQL and of the model, and compares what they answer, and all rows.
type oracle struct {
	*testing.T
	dice  *rand.Rand
	url   string
	conn  *pgx.Conn
	model *server
	now   time.Time

	claimers    []*store.Claimer
	recorder    *store.Recorder
	registry    *store.Registry
	maintenance *store.Maintenance
	ids         []scheduler.InstanceID // by desk
	asserted    []bool
	given       []row // every claim that was made
	saved       int   // commits of the model when the real one was saved; -1: never
	story       []string
	done        map[string]int // what came to pass
}

func (o *oracle) exec(text string, args ...any) {
	o.Helper()
	if _, err := o.conn.Exec(o.Context(), text, args...); err != nil {
		o.fail("%s: %v", text, err)
	}
}

func (o *oracle) number(text string, args ...any) (n int64) {
	o.Helper()
	if err := o.conn.QueryRow(o.Context(), text, args...).Scan(&n); err != nil {
		o.fail("%s: %v", text, err)
	}
	return n
}

func (o *oracle) fail(format string, args ...any) {
	o.Helper()
	for _, line := range o.story[max(0, len(o.story)-25):] {
		o.Log(line)
	}
	o.Fatalf(format, args...)
}

// same compares an answer; what tells which call it is of.
func (o *oracle) same(what string, real, model any) {
	o.Helper()
	o.story = append(o.story, fmt.Sprintf("%s: %v", what, real))
	if a, b := fmt.Sprint(real), fmt.Sprint(model); a != b {
		o.fail("%s: PostgreSQL says\n%s\nthe model says\n%s", what, a, b)
	}
}

// connect opens desks anew, as after a lost connection.
func (o *oracle) connect() {
	o.close()
	var err error
	open := func(e error) { err = errors.Join(err, e) }
	o.claimers = make([]*store.Claimer, len(o.ids))
	var e error
	for i := range o.claimers {
		o.claimers[i], e = store.NewClaimer(o.url)
		open(e)
	}
	o.recorder, e = store.NewRecorder(o.url)
	open(e)
	o.registry, e = store.NewRegistry(o.url)
	open(e)
	o.maintenance, e = store.NewMaintenance(o.url)
	if open(e); err != nil {
		o.Fatal(err)
	}
	clear(o.asserted)
}

func (o *oracle) close() {
	for _, c := range o.claimers {
		c.Close()
	}
	if o.recorder != nil {
		o.recorder.Close()
		o.registry.Close()
		o.maintenance.Close()
	}
}

// learn takes over what only the real server decides: the floor of an era, and how far its sequences skipped.
func (o *oracle) learn() {
	o.model.floor = func() scheduler.Fence { return scheduler.Fence(o.number("select floor from bellhop.era_now")) }
	o.model.skip = func(of int) int64 {
		return o.number(fmt.Sprintf("select last_value from %s", sequences[of])) - o.model.sequences[of].last - 100_001
	}
}

var sequences = [2]string{"bellhop.jobqueue_id_seq", "bellhop.instance_id_seq"}

// What a crash or a failover can lose. Dependencies stay those of the jobs.
var tables = []string{"jobqueue", "attempt_past", "lost_run", "dependency", "instance", "server_seen"}

// save keeps a state that the server can fall back to.
func (o *oracle) save() {
	for _, t := range tables {
		o.exec("drop table if exists public." + t)
		o.exec("create table public." + t + " as table bellhop." + t)
	}
	o.exec("drop table if exists public.numbers")
	o.exec(`create table public.numbers as
		select j.last_value as jobs, j.is_called as called, i.last_value as instances
		  from bellhop.jobqueue_id_seq j, bellhop.instance_id_seq i`)
	o.saved = len(o.model.commits)
	o.story = append(o.story, "saved")
}

// lose goes back to it: in a crash on the same server, in a failover on another one.
func (o *oracle) lose(another bool) {
	if o.saved < 0 {
		return
	}
	o.close()
	o.exec("set session_replication_role = replica") // no trigger
	for _, t := range tables {
		var columns string
		row := o.conn.QueryRow(o.Context(), `select string_agg(quote_ident(attname), ',') from pg_attribute
			where attrelid = ('bellhop.' || $1)::regclass and attnum > 0 and not attisdropped and attgenerated = ''`, t)
		if err := row.Scan(&columns); err != nil {
			o.fail("%v", err)
		}
		o.exec("delete from bellhop." + t)
		o.exec("insert into bellhop." + t + " (" + columns + ") overriding system value" +
			" select " + columns + " from public." + t)
	}
	o.exec(`select setval('bellhop.jobqueue_id_seq', jobs, called), setval('bellhop.instance_id_seq', instances)
		from public.numbers`)
	o.exec("set session_replication_role = origin")
	o.exec("truncate bellhop.era_now, bellhop.asserted")
	if another {
		o.exec("update bellhop.server_seen set server = 'before ' || server")
	}
	o.model.restart(o.saved)
	if another {
		o.model.name += "'"
	}
	o.saved = -1
	o.connect()
	o.done["losses"]++
	o.story = append(o.story, fmt.Sprint("lost, on another server: ", another))
	for desk := range o.ids {
		o.beat(desk)
		o.assert(desk)
	}
}

// compare holds all rows against each other.
func (o *oracle) compare() {
	rows, err := o.conn.Query(o.Context(), `select id, state, fence, attempt,
		case when state in ('assigned', 'running') then coalesce(instance, 0) else 0 end, deaths, lost, cancel_requested from bellhop.jobqueue order by id`)
	if err != nil {
		o.fail("%v", err)
	}
	var real, model []string
	for rows.Next() {
		v, err := rows.Values()
		if err != nil {
			o.fail("%v", err)
		}
		real = append(real, fmt.Sprint(v...))
	}
	for _, j := range o.model.sorted() {
		if !j.held() {
			j.instance = 0
		}
		model = append(model, fmt.Sprint(int64(j.id), string(j.state), int64(j.fence), j.attempt, int64(j.instance),
			j.deaths, j.lost, j.stopping))
	}
	for i := range max(len(real), len(model)) {
		if i >= len(real) || i >= len(model) || real[i] != model[i] {
			o.fail("PostgreSQL has\n%v\nthe model has\n%v", real[min(i, len(real)):], model[min(i, len(model)):])
		}
	}
}

// The same calls, of the model and of a PostgreSQL, get the same answers and leave the same rows.
func TestModel_DecidesAsPostgreSQL(t *testing.T) {
	conn, done := "", map[string]int{}
	for trace := range uint64(6) {
		conn = migrated.URL(t)
		o := &oracle{T: t, dice: rand.New(rand.NewPCG(trace, 3)), url: conn, ids: make([]scheduler.InstanceID, 3),
			asserted: make([]bool, 3), saved: -1, done: done, now: time.Now()}
		o.model = newServer(func() time.Time { return o.now })
		var err error
		if o.conn, err = pgx.Connect(t.Context(), conn); err != nil {
			t.Fatal(err)
		}
		o.learn()
		o.connect()
		for desk := range o.ids {
			o.register(desk)
		}
		for range 150 {
			o.step()
			o.compare()
		}
		o.close()
		_ = o.conn.Close(context.Background())
	}
	t.Log(done)
	for _, what := range []string{"claims", "writes", "stale writes", "taken again", "burials", "strays", "losses"} {
		if done[what] == 0 {
			t.Errorf("there were no %s: the traces show nothing of them", what)
		}
	}
}

func (o *oracle) step() {
	desk := o.dice.IntN(len(o.ids))
	switch n := o.dice.IntN(40); {
	case n < 8:
		o.submit()
	case n < 16:
		o.claim(desk)
	case n < 26:
		o.write(desk)
	case n < 29:
		o.assert(desk)
	case n < 30:
		o.bury(desk)
	case n < 32:
		o.beat(desk)
	case n < 34:
		o.due()
	case n < 35:
		o.passes(desk)
	case n < 36:
		o.cancel()
	case n < 37:
		o.look(desk)
	case n < 39:
		o.save()
	default:
		o.lose(o.dice.IntN(2) == 0)
	}
}
