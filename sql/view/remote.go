package view

import (
	"context"
	"fmt"
	"time"

	"bellhop/scheduler"
	"bellhop/sql"
)

var lookRemoteSQL = sql.Query("look_remote")

// RemoteRow is what of a job runs, or ran, on an engine: a tag.
type RemoteRow struct {
	Tag      string     `json:"tag"`
	Attempt  int        `json:"attempt"`
	Engine   string     `json:"engine"`
	EngineID *string    `json:"engine_id"`
	State    string     `json:"state"`
	Stage    *string    `json:"stage"`
	How      *string    `json:"how"`
	ExitCode *int       `json:"exit_code"`
	Reason   *string    `json:"reason"`
	Said     *string    `json:"said"`
	SentAt   time.Time  `json:"sent_at"`
	RanAt    *time.Time `json:"ran_at"`
	EndedAt  *time.Time `json:"ended_at"`
	Instance *int64     `json:"instance"`
}

// Remote gives the tags of a job, in the order of its attempts.
func (l Look) Remote(ctx context.Context, id scheduler.JobID) ([]RemoteRow, error) {
	return collect[RemoteRow](ctx, l.db, fmt.Sprintf("read what job %d has on engines", id), lookRemoteSQL, id)
}
