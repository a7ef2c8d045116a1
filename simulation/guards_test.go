package simulation

import (
	"strings"
	"testing"
)

// guard is something that keeps a promise, and can be left out.
type guard string

const (
	fenceInOutcome         guard = "fence in an outcome"
	floorOfFences          guard = "floor of fences"
	sameRow                guard = "re-assertion of the same row only"
	notClaimedSince        guard = "re-assertion of a job that was not claimed since"
	assertBeforeClaim      guard = "re-assertion before a claim"
	waitForOthers          guard = "no claim before all instances have re-asserted"
	lostRunsEndFirst       guard = "lost runs end before others claim"
	lossIsNoAttempt        guard = "a takeover costs no attempt"
	burialOnce             guard = "a takeover happens once"
	guardKills             guard = "a guard kills when the lease is over"
	outcomesWaitForTheDisk guard = "outcomes wait for the disk"
)

// without says which promise is seen broken when a guard is left out, and within how many seeds that has to be seen.
var without = []struct {
	guard
	broken string
	within uint64
}{
	{fenceInOutcome, "", 100},
	{floorOfFences, "fences grow", 150},
	{sameRow, "an outcome is of its run", 150},
	{notClaimedSince, "no outcome twice", 400},
	{assertBeforeClaim, "", 100},
	{waitForOthers, "alone", 400},
	{lostRunsEndFirst, "alone", 400},
	{lossIsNoAttempt, "attempts are counted right", 30},
	{burialOnce, "alone", 30},
	{guardKills, "alone", 300},
	{outcomesWaitForTheDisk, "an acknowledged outcome stays", 300},
}

// The simulation sees what each guard is for: where one is left out, it finds a history that breaks a promise.
func TestSimulation_FindsWhatIsLeftOut(t *testing.T) {
	for _, c := range without {
		t.Run(strings.ReplaceAll(string(c.guard), " ", "_"), func(t *testing.T) {
			for seed := range c.within {
				for _, wrong := range play(t, seed+1, c.guard).wrong {
					if strings.HasPrefix(wrong, c.broken) {
						t.Logf("seed %d: %s", seed+1, wrong)
						return
					}
				}
			}
			t.Errorf("%d seeds show nothing", c.within)
		})
	}
}
