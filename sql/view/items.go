package view

import (
	"context"
	"fmt"

	"bellhop/scheduler"
	"bellhop/sql"
)

var (
	pageItemGroupsSQL = sql.Query("page_item_groups")
	pageItemsSQL      = sql.Query("page_items")
)

// ItemsGrouped is how many failed items of a job are grouped at most.
const ItemsGrouped = 5000

// GroupedItemRow is a failed item, as one of up to five of those that failed with the same error.
type GroupedItemRow struct {
	Masked   string // what all of a group say
	N        int64  // of the group
	Item     int64
	Line     *string
	Tries    int
	ExitCode *int
	Error    *string
}

// ItemGroups gives the failed items of a job, grouped by error, the largest group first.
func (l Look) ItemGroups(ctx context.Context, job scheduler.JobID) ([]GroupedItemRow, error) {
	return collect[GroupedItemRow](ctx, l.db, fmt.Sprintf("read the items of job %d", job), pageItemGroupsSQL, job)
}

// ItemPlace is an item of a claim of a job.
type ItemPlace struct{ Fence, Item int64 }

// ItemPage gives failed items of a job behind one of them (nil: from the first on), with one error if it is not empty.
func (l Look) ItemPage(
	ctx context.Context, job scheduler.JobID, behind *ItemPlace, masked string, most int,
) ([]SeenItemRow, error) {
	var fence, item *int64
	if behind != nil {
		fence, item = &behind.Fence, &behind.Item
	}
	return collect[SeenItemRow](ctx, l.db, fmt.Sprintf("read the items of job %d", job), pageItemsSQL,
		job, fence, item, sql.OrNull(masked), most)
}
