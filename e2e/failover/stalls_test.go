package failover

import (
	"math/rand/v2"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"bellhop/pgdev/pgtest"
)

// stalling says for how many minutes. `make stalls` sets it.
func stalling() time.Duration {
	if n, err := strconv.ParseFloat(os.Getenv("BELLHOP_STALLS_MINUTES"), 64); err == nil && n > 0 {
		return time.Duration(n * float64(time.Minute))
	}
	return 30 * time.Second
}

// What instances have by default.
const lag, beat = 10 * time.Second, 2 * time.Second

// Two instances stall again and again (SIGSTOP), up to what their lag allows, while clients submit. An instance is
// buried only if it was silent for its lag; every job runs once at a time, and succeeds.
func TestStalls_NoInstanceIsBuriedBeforeItsLag(t *testing.T) {
	t.Parallel()
	period := stalling()
	r, url := newRecord(t), pgtest.Cluster(t).URL()
	bellhop(t, binary, url, "migrate")
	p := pool(t, url)
	instances := []*instance{serve(t, binary, url, "a", r.journal), serve(t, binary, url, "b", r.journal)}
	stop := r.submit(t, url)
	defer stop()
	luck := rand.New(rand.NewPCG(1, uint64(period)))
	many, silent := 0, time.Duration(0)
	for began := time.Now(); time.Since(began) < period; many++ {
		i := instances[luck.IntN(len(instances))]
		d := time.Duration(luck.Int64N(int64(lag - 2*beat)))
		if many%3 == 0 {
			d = lag - 2*beat
		}
		_ = i.cmd.Process.Signal(syscall.SIGSTOP)
		time.Sleep(d) // this is the stall
		_ = i.cmd.Process.Signal(syscall.SIGCONT)
		silent += d
		time.Sleep(beat + time.Duration(luck.Int64N(int64(2*beat)))) // and the time until the next one
	}
	stop()
	waitOver(t, p)
	var buried int
	var least *float64
	if err := p.QueryRow(t.Context(), `select count(*), min(extract(epoch from gone_at - heartbeat_at))::float8
		from bellhop.instance where state = 'gone'`).Scan(&buried, &least); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %d stalls, %s in all; %d jobs; %d instances buried", period, many, silent.Round(time.Second),
		len(r.committed), buried)
	if least != nil && *least < lag.Seconds() {
		t.Errorf("an instance was buried after %.1f s of silence; its lag is %s", *least, lag)
	}
	if _, together := r.journaled(t); len(together) > 0 {
		t.Errorf("%d times two processes did one job at once, first: %s", len(together), together[0])
	}
	var failed int
	if err := p.QueryRow(t.Context(), "select count(*) from bellhop.jobqueue where state <> 'succeeded'").
		Scan(&failed); err != nil || failed > 0 {
		t.Errorf("%d jobs have not succeeded, %v", failed, err)
	}
}
