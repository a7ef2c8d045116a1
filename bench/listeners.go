package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/bench/receipt"
)

// startListener notes when it has heard what is said on a channel, and does nothing else.
func startListener(ctx context.Context, y yardstick) (stop func() error, err error) {
	conn, err := pgx.Connect(ctx, y.URL)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Exec(ctx, "listen raw_listen"); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var heard strings.Builder
	over := make(chan error, 1)
	go func() {
		for {
			n, err := conn.WaitForNotification(ctx)
			if err != nil {
				over <- os.WriteFile(filepath.Join(y.Notes, strconv.Itoa(os.Getpid())), []byte(heard.String()), 0o600)
				return
			}
			fmt.Fprintln(&heard, n.Payload, receipt.Monotonic())
		}
	}()
	return func() error { cancel(); return errors.Join(<-over, conn.Close(context.Background())) }, nil
}

// rawListeners is what the server needs to wake the first of several processes that listen, each on a connection of
// its own, with an INSERT whose trigger rings: no scheduler can be faster.
func rawListeners(ctx context.Context, b *bench, round int, db *database, conn *pgx.Conn) error {
	if _, err := conn.Exec(ctx, `create table raw_listen (id bigint generated always as identity primary key, args text);
		create function raw_listen() returns trigger language plpgsql as
			$$ begin perform pg_notify('raw_listen', new.args); return null; end $$;
		create trigger raw_listen after insert on raw_listen for each row execute function raw_listen()`); err != nil {
		return err
	}
	for _, many := range []int{1, someInstances, manyInstances} {
		first, acked, err := b.heardBy(ctx, db, conn, many, b.length(300, 1000))
		if err != nil {
			return err
		}
		row := fmt.Sprintf("raw: %d listen: INSERT issued → ", many)
		b.note(round, row+"the first has heard, p50", "limit", percentile(first, 0.5), "ms")
		b.note(round, row+"commit acknowledged, p50", "limit", percentile(acked, 0.5), "ms")
	}
	return nil
}

// heardBy gives how many ms it took until the first of so many had heard of each of n INSERTs, and until its commit was
// acknowledged.
func (b *bench) heardBy(ctx context.Context, db *database, conn *pgx.Conn, many, n int) (
	first, acked []float64, err error) {
	notes, err := os.MkdirTemp(b.tmp, "listeners")
	if err != nil {
		return nil, nil, err
	}
	listeners := make([]process, many)
	for i := range listeners {
		if err := listeners[i].run(b, yardstick{Kind: "listener", URL: db.url, options: options{Notes: notes}}); err != nil {
			return nil, nil, err
		}
	}
	issued := map[string]int64{}
	for i := range n {
		line := "t" + strconv.Itoa(i)
		issued[line] = receipt.Monotonic()
		if _, err := conn.Exec(ctx, "insert into raw_listen (args) values ($1)", line); err != nil {
			return nil, nil, err
		}
		acked = append(acked, float64(receipt.Monotonic()-issued[line])/1e6)
		time.Sleep(10 * time.Millisecond) // all have heard, and the machine is idle again
	}
	for i := range listeners {
		err = errors.Join(err, listeners[i].stop())
	}
	heard := map[string]int64{}
	files, more := os.ReadDir(notes)
	err = errors.Join(err, more)
	for _, file := range files {
		text, more := os.ReadFile(filepath.Join(notes, file.Name()))
		err = errors.Join(err, more)
		for said := range strings.Lines(string(text)) {
			var line string
			var at int64
			if _, more := fmt.Sscan(said, &line, &at); more != nil {
				return nil, nil, more
			}
			if was, is := heard[line]; !is || at < was {
				heard[line] = at
			}
		}
	}
	if err == nil && (len(files) != many || len(heard) != n) {
		err = fmt.Errorf("%d listeners have heard %d of %d", len(files), len(heard), n)
	}
	for line, at := range heard {
		first = append(first, float64(at-issued[line])/1e6)
	}
	return first, acked, err
}
