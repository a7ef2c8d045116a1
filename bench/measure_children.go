package main

import (
	"context"
	"fmt"
	"time"

	"bellhop/bench/receipt"
)

// measureChildren brings up 1,000 children on one host and leaves them idle.
func measureChildren(ctx context.Context, b *bench, round int) error {
	const n = 1000
	g := growth{
		row:   "1,000 idle children on one host",
		label: "bellhop",
		make:  func() *bellhop { return &bellhop{b: b, slots: n} },
	}
	g.warm = func(ctx context.Context, s *session) error { return b.crowd(ctx, round, s, n, g.row) }
	few := growth{row: g.row, label: "bellhop, default slots", make: func() *bellhop { return &bellhop{b: b} }}
	return inTurn(round, few.step(ctx, b, round), g.step(ctx, b, round))
}

// crowd keeps a child busy with a long job each until all are up, and says what
// they cost when they are idle again.
func (b *bench) crowd(ctx context.Context, round int, s *session, n int, row string) error {
	// A few slow ones first: a child that is known to be fast is given several
	// lines at once, and fewer children come up.
	for range 20 {
		if err := s.insert(ctx, "h 50ms"); err != nil {
			return err
		}
	}
	if err := s.settle(ctx, time.Minute); err != nil {
		return err
	}
	time.Sleep(time.Second) // at rest
	before, err := memory(s.pid(), "status", "VmRSS")
	if err != nil {
		return err
	}
	beforePss, err := memory(s.pid(), "smaps_rollup", "Pss")
	if err != nil {
		return err
	}
	began := time.Now()
	if _, err := s.conn.Exec(ctx, "insert into bellhop.jobqueue (type, args) select 'noop', 'h 30s' from generate_series(1, $1::int)", n); err != nil {
		return err
	}
	s.done += int64(n)
	for deadline := began.Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		total, err := receipt.Total(s.notes)
		if err != nil {
			return err
		}
		if total == s.done {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d of %d children have come up", total-(s.done-int64(n)), n)
		}
	}
	b.note(round, row+": until all are up", "bellhop", time.Since(began).Seconds(), "s")
	if err := s.settle(ctx, time.Minute); err != nil {
		return err
	}
	time.Sleep(10 * time.Second) // at rest again: serve gives memory back when it has found twice that nothing is to do
	after, err := memory(s.pid(), "status", "VmRSS")
	if err != nil {
		return err
	}
	afterPss, err := memory(s.pid(), "smaps_rollup", "Pss")
	if err != nil {
		return err
	}
	guards, err := childrenOf(s.pid())
	if err != nil {
		return err
	}
	var guardMB float64
	threads, err := threadsOf(s.pid())
	if err != nil {
		return err
	}
	for _, pid := range guards {
		if !isGuard(pid) {
			continue
		}
		pss, err := memory(pid, "smaps_rollup", "Pss")
		if err != nil {
			return err
		}
		guardMB += pss
		of, err := threadsOf(pid)
		if err != nil {
			return err
		}
		threads += of
	}
	b.note(round, row+": memory of serve", "bellhop", after, "MB")
	b.note(round, row+": memory of serve a child", "bellhop", (after-before)*1024/float64(n), "KB")
	b.note(round, row+": memory of guards, for each child (proportional)", "bellhop", guardMB*1024/float64(n), "KB")
	// Of serve what the children have added, of the guards all there is.
	b.note(round, row+": PSS of serve and guards, for each child", "bellhop",
		(afterPss-beforePss+guardMB)*1024/float64(n), "KB")
	b.note(round, row+": threads of serve and guards", "bellhop", float64(threads), "")
	return nil
}
