package torture

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

//go:embed sql/*.sql
var files embed.FS

// statement gives a file's text.
func statement(name string) string {
	text, err := files.ReadFile("sql/" + name + ".sql")
	if err != nil {
		panic(err) // the file is part of the program
	}
	return string(text)
}

var (
	tablesSQL   = statement("tables")
	singleSQL   = statement("single")
	submitSQL   = statement("submit")
	querySQL    = statement("query")
	eventSQL    = statement("event")
	rowSQL      = statement("attached")
	seenSQL     = statement("seen")
	outcomesSQL = statement("outcomes")
	openSQL     = statement("open")
	rowsSQL     = statement("rows")
	eventsSQL   = statement("events")
	ledgerSQL   = statement("ledger")
)

// attempts is more than a job can lose to agents that are killed.
const attempts = 20

// dyingAttempts is how many times a job is tried that always fails.
const dyingAttempts = 2

// Most queries have few items. The first one of a history has so many that it is still being read while its first items
// are done.
const fewItems, mostItems = 20, 1040

// Where the tokens of the parts of the work begin. A run of an event has two.
const (
	firstItem  = 10_000_000
	firstEvent = 100_000
	stepA      = 71_000_000
	stepB      = 72_000_000
)

// workflowText starts a run for each row of a table; its two steps come one after the other.
const workflowText = `workflow: torture
sensor: {table: public.torture_event}
parameters: {ID: ""}
steps:
  - {name: a, type: warm, args: "n=71${ID} ms=5", max_attempts: 20}
  - {name: b, type: exec, args: "n=72${ID} ms=5", max_attempts: 20}
`

// expectation is what clients were told: each token that was committed, and what holds between them.
type expectation struct {
	committed map[int64]string   // tokens of jobs, by how they were submitted
	needs     map[int64]int64    // a token that may begin when another one has ended
	fails     map[int64]int      // so many attempts fail as planned
	dies      map[int64]bool     // all attempts fail, as planned
	notBefore map[int64]int64    // when a token may begin at the earliest, monotonic
	batches   map[int64]bool     // queries
	long      int64              // the query with the most items; 0: there is none yet
	events    map[int64]bool     // rows that start runs
	attached  map[int64]bool     // rows of a table that is attached
	keys      map[string][]int64 // ids that a key was answered with
	refused   []string           // statements that the server should have taken
}

func newExpectation() *expectation {
	return &expectation{
		committed: map[int64]string{},
		needs:     map[int64]int64{},
		fails:     map[int64]int{},
		dies:      map[int64]bool{},
		notBefore: map[int64]int64{},
		batches:   map[int64]bool{},
		events:    map[int64]bool{},
		attached:  map[int64]bool{},
		keys:      map[string][]int64{},
	}
}

// load is a client that submits all kinds of work until it is told to stop.
type load struct {
	pool *pgxpool.Pool
	luck *rand.Rand
	lag  time.Duration
	mu   sync.Mutex
	next int64
	told *expectation
}

// run submits until ctx ends, one piece every few milliseconds.
func (l *load) run(ctx context.Context, pause time.Duration) {
	kinds := []func(context.Context) error{l.single, l.single, l.copied, l.keyed, l.graph, l.query, l.locked, l.locked,
		l.scheduled, l.retried, l.event, l.event, l.single, l.locked, l.keyed, l.long, l.failing, l.attached,
		l.shared, l.stepped, l.parent, l.taken, l.taken, l.handled, l.handled}
	for ctx.Err() == nil {
		// A statement that has begun is not broken off: whether it was committed would not be known.
		one, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		if err := kinds[l.luck.IntN(len(kinds))](one); err != nil {
			l.refused(err)
		}
		cancel()
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(1+l.luck.Int64N(2*int64(pause)/1e6)) * time.Millisecond):
		}
	}
}

// refused keeps errors that no fault explains: those of a server that takes statements.
func (l *load) refused(err error) {
	var said *pgconn.PgError
	if !errors.As(err, &said) {
		return
	}
	switch said.Code[:2] {
	case "08", "25", "28", "40", "53", "55", "57", "58":
		// Connection, read only, login, serialization, resources, locks, operator, system.
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told.refused = append(l.told.refused, err.Error())
}

func (l *load) token() int64 {
	l.next++
	return l.next
}

func (l *load) typ() string {
	if l.luck.IntN(4) == 0 {
		return "exec"
	}
	return "warm"
}

// one submits a job by INSERT, and says so when it is committed.
func (l *load) one(ctx context.Context, kind, more string, later int) (int64, error) {
	n := l.token()
	args := fmt.Sprintf("n=%d ms=%d%s", n, 2+l.luck.IntN(40), more) // a second ms counts
	l.told.notBefore[n] = monotonic() + int64(later)*1e6            // the server counts from a later moment
	if _, err := l.pool.Exec(ctx, singleSQL, l.typ(), args, nil, attempts, later); err != nil {
		return n, err
	}
	l.told.committed[n] = kind
	return n, nil
}

func (l *load) single(ctx context.Context) error {
	_, err := l.one(ctx, "INSERT", "", 0)
	return err
}

// long takes up to one and a half leases: it runs when its instance is taken for dead.
func (l *load) long(ctx context.Context) error {
	takes := time.Duration((0.3 + 1.2*l.luck.Float64()) * float64(l.lag))
	_, err := l.one(ctx, "long", fmt.Sprintf(" ms=%d", takes.Milliseconds()), 0)
	return err
}

func (l *load) scheduled(ctx context.Context) error {
	_, err := l.one(ctx, "scheduled", "", 100+l.luck.IntN(1500))
	return err
}

// locked submits some jobs that want one lock, in one commit: all instances hear of them at once.
func (l *load) locked(ctx context.Context) error {
	tx, err := l.pool.Begin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // after a commit it does nothing
	name := l.luck.IntN(3)
	added := make([]int64, wanting)
	for i := range added {
		how, word := "x", "exclusive"
		if l.luck.IntN(2) == 0 {
			how, word = "s", "shared"
		}
		added[i] = l.token()
		args := fmt.Sprintf("n=%d ms=%d lock=%d:%s", added[i], 2+l.luck.IntN(20), name, how)
		if _, err := tx.Exec(ctx, singleSQL, l.typ(), args, []string{fmt.Sprintf("torture:%d=%s", name, word)}, attempts,
			0); err != nil {
			return err
		}
	}
	// Jobs of a commit whose answer is lost are not in the list of the committed: they are checked as rows.
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	for _, n := range added {
		l.told.committed[n] = "with a lock"
	}
	return nil
}

// wanting is how many jobs want a lock at once.
const wanting = 4

func (l *load) retried(ctx context.Context) error {
	n, err := l.one(ctx, "failing once", " fails=1", 0)
	if err == nil {
		l.told.fails[n] = 1
	}
	return err
}

// failing fails whenever it is tried, and may be tried twice.
func (l *load) failing(ctx context.Context) error {
	n := l.token()
	l.told.dies[n] = true // if it is committed
	_, err := l.pool.Exec(ctx, singleSQL, l.typ(), fmt.Sprintf("n=%d ms=3 fails=1000", n), nil, dyingAttempts, 0)
	if err == nil {
		l.told.committed[n] = "failing"
	}
	return err
}

// attached is a row of a table of the app's own: an agent gets it as an item, and its outcome is written back.
func (l *load) attached(ctx context.Context) error {
	n := l.token()
	if _, err := l.pool.Exec(ctx, rowSQL, n); err != nil {
		return err
	}
	l.told.attached[n] = true
	return nil
}

func (l *load) copied(ctx context.Context) error {
	var rows [][]any
	for range 10 {
		rows = append(rows, []any{"warm", fmt.Sprintf("n=%d ms=3", l.token()), attempts})
	}
	last := l.next
	if _, err := l.pool.CopyFrom(ctx, pgx.Identifier{"bellhop", "jobqueue"}, []string{"type", "args", "max_attempts"},
		pgx.CopyFromRows(rows)); err != nil {
		return err
	}
	for n := last - int64(len(rows)) + 1; n <= last; n++ {
		l.told.committed[n] = "COPY"
	}
	return nil
}

// keyed submits under one key twice: the second call answers with the first job.
func (l *load) keyed(ctx context.Context) error {
	n := l.token()
	key := fmt.Sprint("key.", n)
	for range 2 {
		var id int64
		if err := l.pool.QueryRow(ctx, submitSQL, "warm", fmt.Sprintf("n=%d ms=3", n), key, nil, attempts).
			Scan(&id); err != nil {
			return err
		}
		l.told.committed[n] = "with a key"
		l.told.keys[key] = append(l.told.keys[key], id)
	}
	return nil
}

// graph submits a job that two others need, and those.
func (l *load) graph(ctx context.Context) error {
	tx, err := l.pool.Begin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // after a commit it does nothing
	var id int64
	first := l.token()
	if err := tx.QueryRow(ctx, submitSQL, "warm", fmt.Sprintf("n=%d ms=10", first), nil, nil, attempts).
		Scan(&id); err != nil {
		return err
	}
	added := []int64{first}
	for range 2 {
		n := l.token()
		added = append(added, n)
		if err := tx.QueryRow(ctx, submitSQL, l.typ(), fmt.Sprintf("n=%d ms=5", n), nil, []int64{id}, attempts).
			Scan(new(int64)); err != nil {
			return err
		}
	}
	l.told.needs[added[1]], l.told.needs[added[2]] = first, first
	// Jobs of a commit whose answer is lost are not in the list of the committed: they are checked as rows.
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	for _, n := range added {
		l.told.committed[n] = "in a graph"
	}
	return nil
}

func (l *load) query(ctx context.Context) error {
	batch := l.token()
	if l.told.long == 0 {
		l.told.long = batch
	}
	if _, err := l.pool.Exec(ctx, querySQL, batch, firstItem+batch*mostItems, l.told.items(batch), attempts); err != nil {
		return err
	}
	l.told.batches[batch] = true
	return nil
}

// items is how many items a query has.
func (e *expectation) items(batch int64) int64 {
	if batch == e.long {
		return mostItems
	}
	return fewItems
}

func (l *load) event(ctx context.Context) error {
	id := firstEvent + l.token()
	if _, err := l.pool.Exec(ctx, eventSQL, id); err != nil {
		return err
	}
	l.told.events[id] = true
	return nil
}
