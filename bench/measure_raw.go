package main

import (
	"context"
	"fmt"
	"os/exec"
	"time"

	"github.com/jackc/pgx/v5"
)

// measureRaw is what the machine, the server and the drivers can do at all.
func measureRaw(ctx context.Context, b *bench, round int) error {
	return b.bare(ctx, func(db *database, conn *pgx.Conn) error {
		for _, limit := range []func(context.Context, *bench, int, *database, *pgx.Conn) error{
			rawNotify, rawListeners, rawCommit, rawClaim, rawCursor,
		} {
			if err := limit(ctx, b, round, db, conn); err != nil {
				return err
			}
		}
		n := b.length(20_000, 100_000)
		for _, children := range []int{1, 2} {
			for name, start := range map[string]func(string) (piped, error){"the runtime's poller": startPolled, "blocking descriptors": startBlocking} {
				rate, err := b.pipes(children, n, start)
				if err != nil {
					return err
				}
				b.note(round, "raw: lines to warm children and back", fmt.Sprintf("%d in lockstep, %s", children, name), rate, "lines/s")
			}
		}
		began := time.Now()
		const processes = 200
		for range processes {
			if err := exec.Command("/bin/true").Run(); err != nil {
				return err
			}
		}
		b.note(round, "raw: exec of /bin/true", "limit", time.Since(began).Seconds()*1000/processes, "ms")
		return nil
	})
}

// times gives how many ms each of n calls took.
func times(n int, f func() error) ([]float64, error) {
	var took []float64
	for i := range n + n/10 {
		began := time.Now()
		if err := f(); err != nil {
			return nil, err
		}
		if i >= n/10 { // after the warm-up
			took = append(took, time.Since(began).Seconds()*1000)
		}
	}
	return took, nil
}

func rawNotify(ctx context.Context, b *bench, round int, db *database, conn *pgx.Conn) error {
	listener, err := pgx.Connect(ctx, db.url)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close(ctx) }()
	if _, err := listener.Exec(ctx, "listen raw"); err != nil {
		return err
	}
	took, err := times(b.length(1000, 5000), func() error {
		if _, err := conn.Exec(ctx, "notify raw"); err != nil {
			return err
		}
		_, err := listener.WaitForNotification(ctx)
		return err
	})
	if err != nil {
		return err
	}
	b.note(round, "raw: NOTIFY until the listener has it", "limit", median(took), "ms")
	took, err = times(b.length(1000, 5000), func() error { _, err := conn.Exec(ctx, "select 1"); return err })
	if err != nil {
		return err
	}
	b.note(round, "raw: select 1 and back", "limit", median(took), "ms")
	return nil
}

func rawCommit(ctx context.Context, b *bench, round int, _ *database, conn *pgx.Conn) error {
	if _, err := conn.Exec(ctx, "create table raw_commit (id bigint generated always as identity primary key, args text)"); err != nil {
		return err
	}
	took, err := times(b.length(500, 2000), func() error {
		_, err := conn.Exec(ctx, "insert into raw_commit (args) values ($1)", "x")
		return err
	})
	if err != nil {
		return err
	}
	b.note(round, "raw: one-row INSERT, commit acknowledged", "limit", median(took), "ms")
	return nil
}

// rawClaim claims batches of n from a queue of narrow rows, without other sessions.
func rawClaim(ctx context.Context, b *bench, round int, _ *database, conn *pgx.Conn) error {
	if _, err := conn.Exec(ctx, referenceSchema+"set enable_seqscan = off"); err != nil {
		return err
	}
	for _, n := range []int{1, 10, 100, 1000} {
		rounds := min(1000, 50_000/n)
		if _, err := conn.Exec(ctx, "insert into ref_job (args) select 'x' from generate_series(1, $1::int)", 2*n*rounds); err != nil {
			return err
		}
		if _, err := conn.Exec(ctx, "vacuum analyze ref_job"); err != nil {
			return err
		}
		took, err := times(rounds, func() error {
			rows, err := conn.Query(ctx, referenceClaim, n)
			if err != nil {
				return err
			}
			claimed := 0
			var id int64
			var args string
			if _, err := pgx.ForEachRow(rows, []any{&id, &args}, func() error { claimed++; return nil }); err != nil {
				return err
			}
			if claimed != n {
				return fmt.Errorf("claimed %d, not %d", claimed, n)
			}
			return nil
		})
		if err != nil {
			return err
		}
		b.note(round, "raw: claim, synchronous commit", fmt.Sprintf("of %d", n), float64(n)/median(took)*1000, "jobs/s")
		if _, err := conn.Exec(ctx, "truncate ref_job"); err != nil {
			return err
		}
	}
	_, err := conn.Exec(ctx, "reset enable_seqscan")
	return err
}

func rawCursor(ctx context.Context, b *bench, round int, _ *database, conn *pgx.Conn) error {
	n := b.length(500_000, 2_000_000)
	return pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, fmt.Sprintf("declare raw no scroll cursor for select g from generate_series(1, %d) g", n)); err != nil {
			return err
		}
		began, got := time.Now(), 0
		for {
			rows, err := tx.Query(ctx, "fetch 1000 from raw")
			if err != nil {
				return err
			}
			before := got
			for rows.Next() {
				_ = rows.RawValues()
				got++
			}
			if err := rows.Err(); err != nil {
				return err
			}
			if got == before {
				break
			}
		}
		if got != n {
			return fmt.Errorf("%d rows came from the cursor, not %d", got, n)
		}
		b.note(round, "raw: stream of a cursor, 1,000 rows a fetch", "limit", float64(n)/time.Since(began).Seconds(),
			"rows/s")
		return nil
	})
}
