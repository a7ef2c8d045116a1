package actors_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// stressFor is how long the stress below lasts; BELLHOP_STRESS=10m make it longer.
func stressFor(t *testing.T) time.Duration {
	if text := os.Getenv("BELLHOP_STRESS"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatalf("BELLHOP_STRESS: %v", err)
		}
		return d
	}
	return 5 * time.Second
}

// Around the moment of falling asleep, again and again: a few jobs from several
// producers at random moments, one of whom commits late, then silence. The
// safety scan is out of the way: a wake-up that is lost is not found.
func TestGate_NoWakeUpIsLostOrLate(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.scan = time.Hour
	b.start(2, agent{"solo", 2, newJournal(t)})
	defer b.stop()
	stressGate(b, nil)
}

// The same while the connection that has the gate is cut, and while the actors
// that have to do with it panic.
func TestGate_NoWakeUpIsLostUnderFaults(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.scan = time.Hour
	b.start(2, agent{"solo", 2, newJournal(t)})
	defer b.stop()
	stressGate(b, func(round int) {
		switch round % 10 {
		case 3:
			b.exec("select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'bellhop gate%' and datname = current_database()")
		case 6:
			_ = b.system.Panic("gate") // it may not be back from the last time
		case 9:
			_ = b.system.Panic("dispatcher")
		}
	})
}

// stressGate works in rounds, and checks after each that every job has begun
// as soon as it was there. fault happens in the middle of a round.
func stressGate(b *env, fault func(round int)) {
	b.Helper()
	const producers = 4
	conns := make([]*pgx.Conn, producers)
	for i := range conns {
		var err error
		if conns[i], err = pgx.Connect(b.Context(), b.url); err != nil {
			b.Fatal(err)
		}
		defer func() { _ = conns[i].Close(context.Background()) }()
	}
	b.exec("insert into bellhop.jobqueue (type, args) values ('solo', '0s'), ('solo', '0s')")
	b.eventually("the children are up", func() bool { return b.count() == "succeeded 2" })
	var rounds, jobs, late int
	var worst time.Duration
	until, enough := time.Now().Add(stressFor(b.T)), time.Now().Add(patience)
	for ; time.Now().Before(until) || b.gate.shut.Load() < 2 && time.Now().Before(enough); rounds++ {
		var all sync.WaitGroup
		for i, conn := range conns {
			n := 1 + rand.IntN(8)
			jobs += n
			all.Go(func() {
				for range n {
					pause(10 * time.Millisecond)
					if err := insertOne(b.Context(), conn, i == 0); err != nil {
						b.Error(err)
					}
				}
			})
		}
		if fault != nil {
			pause(20 * time.Millisecond)
			fault(rounds)
		}
		all.Wait()
		began := time.Now()
		b.eventually("every job of the round is done", func() bool { return b.one("select count(*) from bellhop.jobqueue where state <> 'succeeded'") == "0" })
		took := time.Since(began)
		worst = max(worst, took)
		if took > 500*time.Millisecond {
			late++
		}
		pause(60 * time.Millisecond) // or into the next
	}
	asleep := b.gate.shut.Load()
	b.Logf("%d jobs in %d rounds; the gate was asked for %d times and shut %d times; the last job of a round was done after %v at the most, after more than 500 ms %d times",
		jobs, rounds, b.gate.asked.Load(), asleep, worst.Round(time.Millisecond), late)
	if asleep < 2 {
		b.Errorf("the tree fell asleep %d times: this has tested nothing", asleep)
	}
	if fault == nil && worst > time.Minute { // whoever misses a wake-up waits for the scan, an hour
		b.Errorf("a round was done after %v", worst)
	}
	if again := b.one("select count(*) from bellhop.jobqueue where attempt <> 1"); again != "0" {
		b.Errorf("%s jobs have run again", again)
	}
}

func insertOne(ctx context.Context, conn *pgx.Conn, late bool) error {
	text := fmt.Sprintf("insert into bellhop.jobqueue (type, args) values ('solo', '%dms')", rand.IntN(30))
	if !late {
		_, err := conn.Exec(ctx, text)
		return err
	}
	return pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, text)
		pause(40 * time.Millisecond)
		return err
	})
}

// pause is the random gap between what producers do: it is the load, and waits for nothing.
func pause(most time.Duration) { time.Sleep(rand.N(most)) }
