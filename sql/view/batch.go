package view

import (
	"context"
	"fmt"

	"bellhop/scheduler"
	"bellhop/sql"
)

var lookBatchCountSQL = sql.Query("look_batch_count")

// BatchCount is how the jobs of a batch stand. Those that were deleted are not counted.
type BatchCount struct {
	Jobs        int64 `json:"jobs"`
	Waiting     int64 `json:"waiting"`
	Running     int64 `json:"running"` // or assigned
	Succeeded   int64 `json:"succeeded"`
	Failed      int64 `json:"failed"`
	Cancelled   int64 `json:"cancelled"`
	Quarantined int64 `json:"quarantined"`
}

// Over is how many have ended.
func (b BatchCount) Over() int64 { return b.Succeeded + b.Failed + b.Cancelled + b.Quarantined }

// BatchCount counts what the job of a batch needs; ok false: there is no such job, or none that the account may see.
func (l Look) BatchCount(ctx context.Context, id scheduler.JobID) (b BatchCount, ok bool, err error) {
	return first(collect[BatchCount](ctx, l.db, fmt.Sprintf("count batch %d", id), lookBatchCountSQL, id))
}
