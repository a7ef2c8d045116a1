package store

import "bellhop/scheduler"

// placedStep is a step that was kept: its place in the list, how many steps its job has with it, and the bytes of their
// outputs.
type placedStep struct {
	Place, Has int
	Size       int64
}

// stepCount is what a run's job has, so that the server need not count it for each step. It is counted again after some
// steps, since the run's agent may keep others by SQL, and always near the bounds of a job, so that those are exact.
type stepCount struct {
	has  int
	size int64
	uses int // steps for which it still serves
}

// How long a count serves, and of which jobs: the bounds are 1,000 steps and 16 MiB.
const (
	countServes   = 50
	countMostHas  = 900
	countMostSize = 12 << 20
	countsKept    = 4096 // runs; all are forgotten then, and counted again
)

// counts gives what the jobs of these steps have; nil: the server is to count.
func (s *Steps) counts(list []*keptStep) (had []*int, sizes []*int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range list {
		c, known := s.had[k.of]
		if !known || c.uses <= 0 || c.has > countMostHas || c.size > countMostSize {
			had, sizes = append(had, nil), append(sizes, nil)
			continue
		}
		had, sizes = append(had, &c.has), append(sizes, &c.size)
	}
	return had, sizes
}

// counted remembers what a job has with a step that was kept.
func (s *Steps) counted(of scheduler.Claim, d placedStep) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, known := s.had[of]
	if c.uses--; !known || c.uses < 0 {
		c.uses = countServes
	}
	c.has, c.size = max(c.has, d.Has), max(c.size, d.Size)
	if !known && len(s.had) >= countsKept {
		clear(s.had)
	}
	s.had[of] = c
}
