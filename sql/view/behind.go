package view

import (
	"context"
	"fmt"

	"bellhop/scheduler"
	"bellhop/sql"
)

var lookBehindSQL = sql.Query("look_behind")

// behindMost is how many jobs behind one are looked at: RetryBehind refuses more.
const behindMost = 1000

// Behind is what RetryBehind would do.
type Behind struct {
	ID      scheduler.JobID     `json:"id"`
	State   scheduler.JobState  `json:"state"`
	Follow  int64               `json:"follow"   doc:"Jobs that need it, by way of others too, and are over: these are tried again with it"`
	Wait    int64               `json:"wait"     doc:"Jobs that need it and are not over: these go on waiting"`
	Begun   *scheduler.JobID    `json:"begun"    doc:"One of them that has begun, or may: so it would be refused"`
	BegunIs *scheduler.JobState `json:"begun_is"`
	More    bool                `json:"more"     doc:"There are more than 1,000: so it would be refused"`
}

// Refused reports whether RetryBehind would refuse.
func (b Behind) Refused() bool { return !b.State.Final() || b.Begun != nil || b.More }

// Behind tells what RetryBehind would do, and changes nothing. False: there is no such job.
func (l Look) Behind(ctx context.Context, id scheduler.JobID) (b Behind, ok bool, err error) {
	return first(planOnce[Behind](ctx, l.db, fmt.Sprintf("look behind job %d", id), lookBehindSQL, id, behindMost))
}
