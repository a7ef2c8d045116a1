package main

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sys/unix"
)

func monotonic() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err)
	}
	return t.Nano()
}

// latency inserts one job at a time into an idle queue and measures, from the
// moment the INSERT is issued and from the moment its commit is acknowledged,
// until the agent has the line.
func (b *bench) latency(ctx context.Context, round int, c contender) error {
	url, err := b.fresh(ctx)
	if err != nil {
		return err
	}
	seen := filepath.Join(b.tmp, fmt.Sprintf("seen%d", b.dbs))
	if err := c.start(ctx, url, seen); err != nil {
		return err
	}
	defer c.stop()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	n, warm := 150, 20
	if b.full {
		n = 1000
	}
	issued, acked := map[string]int64{}, map[string]int64{}
	for i := range n + warm {
		line := strconv.Itoa(i)
		issued[line] = monotonic()
		if _, err := conn.Exec(ctx, c.insertOne(), line); err != nil {
			return err
		}
		acked[line] = monotonic()
		// Long enough for the queue to be idle again, and never in step with a poll.
		time.Sleep(time.Duration(10+rand.IntN(20)) * time.Millisecond)
	}
	if err := b.settle(ctx, conn, c, 30*time.Second); err != nil {
		return err
	}
	got, err := receipts(seen)
	if err != nil {
		return err
	}
	var fromIssue, fromAck []float64
	for i := warm; i < n+warm; i++ {
		line := strconv.Itoa(i)
		t, ok := got[line]
		if !ok {
			return fmt.Errorf("job %s never reached an agent", line)
		}
		fromIssue = append(fromIssue, float64(t-issued[line])/1e6)
		fromAck = append(fromAck, float64(t-acked[line])/1e6)
	}
	slices.Sort(fromIssue)
	slices.Sort(fromAck)
	b.note(round, "idle: issued → agent, p50", c.name(), fromIssue[len(fromIssue)/2], "ms")
	b.note(round, "idle: issued → agent, p99", c.name(), fromIssue[len(fromIssue)*99/100], "ms")
	b.note(round, "idle: commit → agent, p50", c.name(), fromAck[len(fromAck)/2], "ms")
	return nil
}

// drain lets a started program work off many waiting no-op jobs.
func (b *bench) drain(ctx context.Context, round int, c contender) error {
	url, err := b.fresh(ctx)
	if err != nil {
		return err
	}
	if err := c.start(ctx, url, ""); err != nil {
		return err
	}
	defer c.stop()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	// Warm: children up, statements prepared, statistics there; the same for all.
	if _, err := conn.Exec(ctx, c.insertMany(), 2000); err != nil {
		return err
	}
	if err := b.settle(ctx, conn, c, 60*time.Second); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, "vacuum analyze"); err != nil {
		return err
	}
	n := 50_000
	began := time.Now()
	if _, err := conn.Exec(ctx, c.insertMany(), n); err != nil {
		return err
	}
	// Counted from the commit of the insert: the jobs are there, none has begun.
	began = began.Add(time.Since(began))
	if err := b.settle(ctx, conn, c, 10*time.Minute); err != nil {
		return err
	}
	took := time.Since(began)
	var bad int
	if err := conn.QueryRow(ctx, c.double()).Scan(&bad); err != nil {
		return err
	}
	if bad > 0 {
		return fmt.Errorf("%d jobs were not done exactly once", bad)
	}
	b.note(round, "drain of 50,000", c.name(), float64(n)/took.Seconds(), "jobs/s")
	return nil
}

// settle waits until nothing is left to do. Its count runs every 5 ms on a
// partial index: the same for all.
func (b *bench) settle(ctx context.Context, conn *pgx.Conn, c contender, within time.Duration) error {
	for deadline := time.Now().Add(within); ; time.Sleep(5 * time.Millisecond) {
		var left int
		if err := conn.QueryRow(ctx, c.left()).Scan(&left); err != nil {
			return err
		}
		if left == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d jobs are still not done after %s", left, within)
		}
	}
}

// idle looks at a scheduler with nothing to do: memory, CPU, statements.
func (b *bench) idle(ctx context.Context, round int, c contender) error {
	url, err := b.fresh(ctx)
	if err != nil {
		return err
	}
	if err := c.start(ctx, url, ""); err != nil {
		return err
	}
	defer c.stop()
	pid := c.(*bellhop).pid()
	time.Sleep(2 * time.Second) // let it come to rest
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	span := 10 * time.Second
	if b.full {
		span = time.Minute
	}
	commits := func() (n int64, err error) {
		err = conn.QueryRow(ctx, "select pg_stat_clear_snapshot()::text is not null, xact_commit + xact_rollback from pg_stat_database where datname = current_database()").Scan(new(bool), &n)
		return n, err
	}
	cpu0, err := cpuTicks(pid)
	if err != nil {
		return err
	}
	t0, err := commits()
	if err != nil {
		return err
	}
	time.Sleep(span)
	t1, err := commits()
	if err != nil {
		return err
	}
	cpu1, err := cpuTicks(pid)
	if err != nil {
		return err
	}
	rss, err := status(pid, "VmRSS:")
	if err != nil {
		return err
	}
	b.note(round, "idle: transactions a minute", c.name(), float64(t1-t0)/span.Minutes(), "")
	b.note(round, "idle: CPU of a core", c.name(), float64(cpu1-cpu0)/span.Seconds(), "%") // a tick is 10 ms: ticks/s are percent
	b.note(round, "idle: memory of serve", c.name(), rss/1024, "MB")
	return nil
}

func cpuTicks(pid int) (int, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	user, err1 := strconv.Atoi(fields[11])
	system, err2 := strconv.Atoi(fields[12])
	if err1 != nil || err2 != nil {
		return 0, fmt.Errorf("/proc/%d/stat is not as expected", pid)
	}
	return user + system, nil
}

func status(pid int, key string) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, key); ok {
			return strconv.ParseFloat(strings.Fields(rest)[0], 64)
		}
	}
	return 0, fmt.Errorf("no %s in /proc/%d/status", key, pid)
}

func receipts(path string) (map[string]int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	got := map[string]int64{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line, at, _ := strings.Cut(lines.Text(), " ")
		t, err := strconv.ParseInt(at, 10, 64)
		if err != nil {
			return nil, err
		}
		if _, again := got[line]; again {
			return nil, fmt.Errorf("job %s reached an agent twice", line)
		}
		got[line] = t
	}
	return got, lines.Err()
}
