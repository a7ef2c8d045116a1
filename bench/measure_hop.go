package main

import (
	"context"
	"fmt"
	"time"

	"bellhop/bench/receipt"
)

// measureHop follows a chain of jobs, each of which needs the one before: from
// the line of one to the line of the next, the first one's end, its outcome and
// the next one's release included. It is compared with how long a job takes that
// is inserted into an idle queue. No yardstick has dependencies.
func measureHop(ctx context.Context, b *bench, round int) error {
	n := b.length(200, 1000)
	return b.with(ctx, &bellhop{b: b}, options{}, func(s *session) error {
		if _, _, err := s.sample(ctx, warmSamples); err != nil {
			return err
		}
		if _, err := s.chain(ctx, 50); err != nil { // warm, too
			return err
		}
		if err := s.vacuum(ctx); err != nil {
			return err
		}
		idle, _, err := s.sample(ctx, b.length(100, 500))
		if err != nil {
			return err
		}
		hops, err := s.chain(ctx, n)
		if err != nil {
			return err
		}
		b.note(round, hopOfAChain, "bellhop", percentile(hops, 0.5), "ms")
		b.note(round, hopOfAChain, "bellhop, idle pick-up", percentile(idle, 0.5), "ms")
		return nil
	})
}

const hopOfAChain = "a chain of jobs that need each other, line → next line, p50"

// chain runs n jobs in a row and gives how long each hop took.
func (s *session) chain(ctx context.Context, n int) (hops []float64, err error) {
	before, err := receipt.Notes(s.notes)
	if err != nil {
		return nil, err
	}
	// The first is held, or it would end before the last one is there.
	if _, err := s.conn.Exec(ctx, fmt.Sprintf(`do $$
declare last bigint; begin
  for i in %d .. %d loop
    last := bellhop.submit('noop', 't' || i, held => i = %d, after => case when last is not null then array[last] end);
  end loop;
end $$`, before, before+n-1, before)); err != nil {
		return nil, err
	}
	s.done += int64(n)
	if _, err := s.conn.Exec(ctx, "select bellhop.release(id) from bellhop.jobqueue where state = 'held'"); err != nil {
		return nil, err
	}
	got, err := s.receipts(before+n, 60*time.Second)
	if err != nil {
		return nil, err
	}
	for i := before + 1; i < before+n; i++ {
		at, later := got[fmt.Sprint("t", i-1)], got[fmt.Sprint("t", i)]
		if at == 0 || later <= at {
			return nil, fmt.Errorf("job t%d came before the one it needs", i)
		}
		hops = append(hops, float64(later-at)/1e6)
	}
	return hops, nil
}
