package scheduler

import (
	"slices"
	"testing"
	"time"
)

func TestBatch_SplitKeepsTheOrderAndLosesNothing(t *testing.T) {
	rec := func(kind RecordKind, job JobID) Record { return Record{Kind: kind, Claim: Claim{Job: job}} }
	b := Batch{MaybeCommitted: true,
		Records: []Record{
			rec(RecordStart, 1),
			rec(RecordStart, 2),
			rec(RecordSettle, 1),
			rec(RecordSettle, 3),
			rec(RecordSettle, 2),
		},
		Progress: []Progress{{Claim: Claim{Job: 2}}, {Claim: Claim{Job: 4}}},
		Entries:  []Entry{{Text: "said"}}, Failed: []FailedItem{{Item: 7}}}
	if jobs := b.Jobs(); !slices.Equal(jobs, []JobID{1, 2, 3, 4}) {
		t.Errorf("jobs: %v", jobs)
	}
	of, rest := b.Split([]JobID{2, 9})
	if !slices.EqualFunc(of.Records, []Record{b.Records[1], b.Records[4]}, same) || len(of.Progress) != 1 ||
		of.Progress[0].Job != 2 ||
		!of.MaybeCommitted {
		t.Errorf("of them: %+v", of)
	}
	if len(of.Entries)+len(of.Failed) > 0 || len(rest.Entries) != 1 || len(rest.Failed) != 1 {
		t.Errorf("what agents said: %+v, %+v", of, rest)
	}
	if !slices.EqualFunc(rest.Records, []Record{b.Records[0], b.Records[2], b.Records[3]}, same) ||
		len(rest.Progress) != 1 ||
		rest.Progress[0].Job != 4 ||
		!rest.MaybeCommitted {
		t.Errorf("the rest: %+v", rest)
	}
}

func same(a, b Record) bool { return a.Kind == b.Kind && a.Claim == b.Claim }

func TestRest_IsLongerWhereMoreComesAndNeverLong(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		took     time.Duration
		outcomes int
		rest     time.Duration
	}{
		{0, 5, 0}, {time.Millisecond, 0, 3 * time.Millisecond}, {time.Millisecond, 1, 3 * time.Millisecond},
		{500 * time.Microsecond, 2, 3 * time.Millisecond}, {time.Millisecond, 2, restMost}, {time.Second, 1, restMost},
	} {
		if got := Rest(c.took, c.outcomes); got != c.rest {
			t.Errorf("after %d in %s it rests for %s, want %s", c.outcomes, c.took, got, c.rest)
		}
	}
}
