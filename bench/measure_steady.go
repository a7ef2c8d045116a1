package main

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/bench/receipt"
)

const (
	steadyRate      = 1000 // jobs a second
	steadyProducers = 4
)

// measureSteady produces and consumes at once: every job is 1 ms of work.
func measureSteady(ctx context.Context, b *bench, round int) error {
	span := time.Duration(b.length(10, 60)) * time.Second
	take := func(c contender) func() error {
		return func() error {
			return b.with(ctx, c, options{}, func(s *session) error {
				if _, _, err := s.sample(ctx, 2*warmSamples); err != nil {
					return err
				}
				before, err := receipt.Notes(s.notes)
				if err != nil {
					return err
				}
				idle, err := s.cost(ctx)
				if err != nil {
					return err
				}
				issued, took, err := s.steadily(ctx, before, span)
				if err != nil {
					return err
				}
				got, err := s.receipts(before+len(issued), 2*time.Minute)
				if err != nil {
					return err
				}
				busy, err := s.cost(ctx)
				if err != nil {
					return err
				}
				b.noteCost(round, "produce and consume", c.name(), idle, busy, len(issued))
				var waits, inserts []float64
				var first, last int64
				for line, in := range issued {
					waits = append(waits, float64(got[line]-in.issued)/1e6)
					inserts = append(inserts, float64(in.acked-in.issued)/1e6)
					last = max(last, got[line])
					if first == 0 || in.issued < first {
						first = in.issued
					}
				}
				b.note(round, "produce and consume, 1 ms of work, issued → agent, p50", c.name(), percentile(waits, 0.5), "ms")
				b.note(round, "produce and consume, 1 ms of work, issued → agent, p99", c.name(), percentile(waits, 0.99), "ms")
				b.note(round, "produce and consume, the INSERT itself, p50", c.name(), percentile(inserts, 0.5), "ms")
				b.note(round, "produce and consume, the INSERT itself, p99", c.name(), percentile(inserts, 0.99), "ms")
				b.note(round, "produce and consume, rate inserted", c.name(), float64(len(issued))/took.Seconds(), "jobs/s")
				b.note(round, "produce and consume, rate picked up", c.name(), float64(len(issued))/(float64(last-first)/1e9), "jobs/s")
				b.note(round, "produce and consume, rate picked up", "wanted", steadyRate, "jobs/s")
				if err := s.settle(ctx, 30*time.Second); err != nil {
					return err
				}
				return s.check(ctx)
			})
		}
	}
	return inTurn(round, take(&bellhop{b: b}), take(&river{b: b, best: true}))
}

// inserted is when an INSERT was issued, and when its commit was acknowledged.
type inserted struct{ issued, acked int64 }

// steadily inserts at a fixed rate from several connections, and gives when
// each line was issued. A producer that is late does not skip.
func (s *session) steadily(
	ctx context.Context, from int, span time.Duration,
) (issued map[string]inserted, took time.Duration, err error) {
	each := int(span.Seconds()) * steadyRate / steadyProducers
	times := make([][]inserted, steadyProducers)
	conns := make([]*pgx.Conn, steadyProducers)
	for i := range conns {
		if conns[i], err = pgx.Connect(ctx, s.db.url); err != nil {
			return nil, 0, err
		}
		defer func() { _ = conns[i].Close(ctx) }()
	}
	line := func(who, i int) string { return "t" + strconv.Itoa(from+i*steadyProducers+who) }
	failed := make(chan error, steadyProducers)
	var all sync.WaitGroup
	began := time.Now()
	for who := range steadyProducers {
		times[who] = make([]inserted, 0, each)
		all.Go(func() {
			gap := time.Second * steadyProducers / steadyRate
			next := began.Add(gap * time.Duration(who) / steadyProducers)
			for i := range each {
				time.Sleep(time.Until(next))
				next = next.Add(gap)
				at := receipt.Monotonic()
				if _, err := conns[who].Exec(ctx, s.insertOne(), line(who, i)+" 1ms"); err != nil {
					failed <- err
					return
				}
				times[who] = append(times[who], inserted{at, receipt.Monotonic()})
			}
		})
	}
	all.Wait()
	took = time.Since(began)
	select {
	case err := <-failed:
		return nil, 0, err
	default:
	}
	issued = map[string]inserted{}
	for who := range times {
		for i, t := range times[who] {
			issued[line(who, i)] = t
		}
	}
	s.done += int64(len(issued))
	return issued, took, nil
}
