package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
	"bellhop/scheduler/engine"
	"bellhop/sql"
)

var (
	engineLookSQL, engineRecordSQL = sql.Query("engine_look"), sql.Query("engine_record")
	engineSaveSQL                  = sql.Query("engine_save")
	engineSweepSQL, engineSweptSQL = sql.Query("engine_sweep"), sql.Query("engine_swept")
)

// sweptMost is how many tags one sweep takes.
const sweptMost = 5000

// Engines keeps the book of what runs on engines. Its commits are synchronous: a tag is there before submit is called.
type Engines struct{ session }

// NewEngines returns a session for that book; it connects at its first use.
func NewEngines(url string) (*Engines, error) {
	conn, err := newConnection(url, "engines", map[string]string{"synchronous_commit": "on", "lock_timeout": lockWait,
		"enable_seqscan": "off", "enable_hashjoin": "off", "enable_mergejoin": "off"})
	return &Engines{session{conn}}, err
}

// Look finds the open tags of claims. A claim that is not among found is not ours any more.
func (s *Engines) Look(ctx context.Context, me scheduler.InstanceID, claims []scheduler.Claim) (
	found map[scheduler.Claim]engine.Tag, err error) {
	ids, fences := split(claims)
	err = s.conn.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, engineLookSQL, int64(me), ids, fences)
		if err != nil {
			return err
		}
		found = make(map[scheduler.Claim]engine.Tag, len(claims))
		var c scheduler.Claim
		var t engine.Tag
		var stage, how string
		var sent, in int64
		now := time.Now()
		_, err = pgx.ForEachRow(rows, []any{&c.Job, &c.Fence, &t.Name, &t.State, &t.ID, &stage, &sent, &in, &how,
			&t.End.ExitCode, &t.End.Reason, &t.End.Said, &t.Logged}, func() error {
			of := t
			of.Stage, of.End.How = engine.StageOf(stage), engine.HowOf(how)
			of.Sent = now.Add(-time.Duration(sent) * time.Millisecond)
			if in >= 0 {
				of.In = now.Add(-time.Duration(in) * time.Millisecond)
			}
			found[c] = of
			return nil
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look for tags: %w", err)
	}
	return found, nil
}

// Record records the tags of claims that are about to be submitted, and gives those that are.
func (s *Engines) Record(ctx context.Context, me scheduler.InstanceID, name string, claims []scheduler.Claim,
) (recorded []scheduler.Claim, err error) {
	ids, fences := split(claims)
	return rowsOf[scheduler.Claim](ctx, s.conn, "record tags", engineRecordSQL, int64(me), ids, fences, name)
}

// Save writes what is known of remote jobs. One whose claim is not ours any more is left alone.
func (s *Engines) Save(ctx context.Context, me scheduler.InstanceID, all []engine.Row, now time.Time) error {
	of := func(pick func(*engine.Row) string) []string { return column(all, pick) }
	ids := column(all, func(x *engine.Row) int64 { return x.Job })
	fences := column(all, func(x *engine.Row) int64 { return x.Fence })
	ran := column(all, func(x *engine.Row) *int64 {
		if x.In.IsZero() {
			return nil
		}
		ms := now.Sub(x.In).Milliseconds()
		return &ms
	})
	return s.conn.exec(ctx, "record what engines say", engineSaveSQL, int64(me), ids, fences,
		of(func(x *engine.Row) string { return x.Name }), of(func(x *engine.Row) string { return string(x.State) }),
		of(func(x *engine.Row) string { return text(x.ID) }), of(func(x *engine.Row) string { return x.Stage.String() }),
		ran,
		of(func(x *engine.Row) string { return x.End.How.String() }),
		column(all, func(x *engine.Row) int32 { return int32(x.End.ExitCode) }),
		of(func(x *engine.Row) string { return text(x.End.Reason) }),
		of(func(x *engine.Row) string { return text(x.End.Said) }))
}

// Sweep takes tags of which nothing is wanted any more. Swept is to be told when nothing is left of them.
func (s *Engines) Sweep(ctx context.Context, me scheduler.InstanceID, typ scheduler.TypeName) (
	left []engine.Ref, err error) {
	err = s.conn.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, engineSweepSQL, int64(me), string(typ), sweptMost)
		if err != nil {
			return err
		}
		var tag, id string
		var job int64
		_, err = pgx.ForEachRow(rows, []any{&tag, &id, &job}, func() error {
			left = append(left, engine.Ref{Tag: tag, ID: id})
			return nil
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look for what is left on engines: %w", err)
	}
	return left, nil
}

// Swept says that nothing is left of tags that Sweep gave.
func (s *Engines) Swept(ctx context.Context, tags []string) error {
	return s.conn.exec(ctx, "record that nothing is left on an engine", engineSweptSQL, tags)
}

func split(claims []scheduler.Claim) (ids, fences []int64) {
	return column(claims, func(c *scheduler.Claim) int64 { return int64(c.Job) }),
		column(claims, func(c *scheduler.Claim) int64 { return int64(c.Fence) })
}
