package agent

import (
	"context"
	"fmt"
	"runtime/debug"
)

// DoBatch does several lines in one call of work: what [Do] does with one. A line that is not what T reads fails
// alone, and work does not see it. The verdicts are in the order of the lines.
func DoBatch[T any](
	ctx context.Context, lines []Line, voices []Voice, work func(ctx context.Context, jobs []*Job[T]) []error,
) []Verdict {
	verdicts := make([]Verdict, len(lines))
	jobs, at := make([]*Job[T], 0, len(lines)), make([]int, 0, len(lines))
	for i, l := range lines {
		job, err := newJob[T](l)
		if err != nil {
			verdicts[i] = verdict(ctx, err)
			continue
		}
		job.voice = voices[i]
		jobs, at = append(jobs, job), append(at, i)
	}
	if len(jobs) == 0 {
		return verdicts
	}
	given := append([]*Job[T](nil), jobs...) // work may sort what it is given
	for i, err := range all(ctx, given, jobs, work) {
		verdicts[at[i]] = verdict(ctx, err)
	}
	return verdicts
}

// all does the work, and says for each job how that went.
func all[T any](
	ctx context.Context, given, jobs []*Job[T], work func(ctx context.Context, jobs []*Job[T]) []error,
) (errs []error) {
	whole := func(err error) []error {
		errs := make([]error, len(jobs))
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	defer func() {
		if p := recover(); p != nil {
			jobs[0].Errorf("panic in a batch of %d jobs: %v\n%s", len(jobs), p, debug.Stack())
			errs = whole(fmt.Errorf("panic in a batch of %d jobs (its stack is in the log of job %d): %v", len(jobs),
				jobs[0].ID, p))
		}
	}()
	switch errs = work(ctx, given); len(errs) {
	case len(jobs):
		return errs
	case 0:
		if errs == nil {
			return whole(nil)
		}
	}
	return whole(fmt.Errorf("the handler returned %d errors for a batch of %d jobs; return one for each job, in their "+
		"order and nil where it succeeded, or nil alone if all have", len(errs), len(jobs)))
}
