package scheduler

import "testing"

func TestEnds_AnExitCodeSaysThatThereWasNothingToDo(t *testing.T) {
	t.Parallel()
	ends := Ends{3: NoData, 4: Skipped}
	if a := ends.Answer(5, &Answer{Result: []byte("1")}); a != nil {
		t.Errorf("a failure: %+v", a)
	}
	if a := Ends(nil).Answer(3, nil); a != nil {
		t.Errorf("where nothing is configured: %+v", a)
	}
	if a := ends.Answer(3, nil); a == nil || a.EndedAs != NoData {
		t.Errorf("%+v", a)
	}
	a := ends.Answer(4, &Answer{Result: []byte("1"), Never: true, EndedAs: NoData})
	if a == nil || a.EndedAs != Skipped || string(a.Result) != "1" || a.Never {
		t.Errorf("what else was said: %+v", a)
	}
}

// Only a job that succeeded had nothing to do, whatever its agent says besides.
func TestRecord_EndedAs(t *testing.T) {
	t.Parallel()
	said := Result{Answer: &Answer{EndedAs: NoData}}
	for _, c := range []struct {
		r    Record
		want EndedAs
	}{
		{Record{Kind: RecordSettle, Verdict: Verdict{State: Succeeded}, Result: said}, NoData},
		{Record{Kind: RecordSettle, Verdict: Verdict{State: Succeeded}}, ""},
		{Record{Kind: RecordSettle, Verdict: Verdict{State: Failed}, Result: said}, ""},
		{Record{Kind: RecordRequeue, Verdict: Verdict{State: Succeeded}, Result: said}, ""},
	} {
		if got := c.r.EndedAs(); got != c.want {
			t.Errorf("%s: %q, want %q", c.r.Verdict.State, got, c.want)
		}
	}
}
