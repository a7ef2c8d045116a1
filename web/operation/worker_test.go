package operation

import (
	"testing"
	"time"
)

// A batch that takes long is followed by a smaller one, whatever it is that takes long; a quick one by a larger one.
func TestNextBatch_IsWhatIsDoneInASecond(t *testing.T) {
	t.Parallel()
	for _, micro := range []int{10, 1000, 5000, 80_000, 60_000_000} {
		perJob := time.Duration(micro) * time.Microsecond
		size := batchMost
		for range 10 {
			size = nextBatch(size, time.Duration(size)*perJob)
		}
		took := time.Duration(size) * perJob
		if took > batchLong && size > batchLeast {
			t.Errorf("%s a job: %d of them take %s", perJob, size, took)
		}
		if took < batchLong/4 && size < batchMost {
			t.Errorf("%s a job: only %d at once", perJob, size)
		}
	}
}
