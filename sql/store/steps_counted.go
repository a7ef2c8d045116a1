package store

import "bellhop/scheduler"

// placedStep is a step that was kept: its place in the list, how many steps its job has with it, and the bytes of their
// outputs.
type placedStep struct {
	Place, Has int
	Size       int64
}

// stepCount is what a run's job has, so that the server need not count it for each step. It is counted again after 50
// steps, since an agent may keep others by SQL, and always near the bounds of a job. One transaction at a time has it.
type stepCount struct {
	has  int
	size int64
	uses int // steps for which it still serves
}

// How long a count serves, and of which jobs: the bounds are 1,000 steps and 16 MiB.
const (
	countServes   = 50
	countMostHas  = 700 // two lanes may have steps of one run, with up to 128 each
	countMostSize = 12 << 20
	countsKept    = 4096 // runs; all are forgotten then, and counted again
)

// counts takes what the jobs of these steps have; nil: the server is to count.
func (s *Steps) counts(list []*keptStep) (had []*int, sizes []*int64, taken map[scheduler.Claim]stepCount) {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken = map[scheduler.Claim]stepCount{}
	for _, k := range list {
		c, known := taken[k.of]
		if !known {
			c, known = s.had[k.of]
			delete(s.had, k.of)
		}
		if !known || c.uses <= 0 || c.has > countMostHas || c.size > countMostSize {
			had, sizes = append(had, nil), append(sizes, nil)
			continue
		}
		had, sizes = append(had, &c.has), append(sizes, &c.size)
		taken[k.of] = stepCount{c.has, c.size, c.uses - 1}
	}
	return had, sizes, taken
}

// counted remembers what a job has with a step that was kept. taken are the counts that its transaction used.
func (s *Steps) counted(of scheduler.Claim, d placedStep, taken map[scheduler.Claim]stepCount) {
	uses := countServes
	if c, known := taken[of]; known {
		uses = c.uses
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c, known := s.had[of]
	if !known && len(s.had) >= countsKept {
		clear(s.had)
	}
	if known { // another step of this run, in this transaction or the one after it
		uses = min(uses, c.uses)
	}
	s.had[of] = stepCount{max(c.has, d.Has), max(c.size, d.Size), uses}
}

// forget has the server count the steps of a run again.
func (s *Steps) forget(of scheduler.Claim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.had, of)
}
