package main

import "context"

const warmSamples = 20

// measureLatency inserts one job at a time into an idle queue.
func measureLatency(ctx context.Context, b *bench, round int) error {
	n := b.length(300, 1000)
	take := func(c contender, n int) func() error {
		return func() error {
			return b.with(ctx, c, options{}, func(s *session) error {
				if _, _, err := s.sample(ctx, warmSamples); err != nil {
					return err
				}
				if err := s.vacuum(ctx); err != nil {
					return err
				}
				issued, acked, err := s.sample(ctx, n)
				if err != nil {
					return err
				}
				b.note(round, "idle queue, INSERT issued → agent has the line, p50", c.name(), percentile(issued, 0.5), "ms")
				b.note(round, "idle queue, INSERT issued → agent has the line, p99", c.name(), percentile(issued, 0.99), "ms")
				b.note(round, "idle queue, commit acknowledged → agent has the line, p50", c.name(), percentile(acked, 0.5), "ms")
				return nil
			})
		}
	}
	return inTurn(round, take(&reference{b: b}, n), take(&bellhop{b: b}, n), take(&river{b: b, best: true}, n),
		take(&river{b: b}, b.length(40, 300)))
}
