package lasting

import (
	"sync/atomic"

	"bellhop/actors/message"
	"bellhop/actors/tree"
)

// AttachedRows says whether there are attached tables: written by maintenance
// and attachments, read by all that might look for rows.
type AttachedRows struct {
	*tree.Peers
	Attached atomic.Bool
}

var scanRowsNow = &message.ScanRows{}

// Scan tells of a reason to look at attached tables, where there are any.
func (r *AttachedRows) Scan() {
	if r.Attached.Load() {
		r.Tell(message.RoleAttachments, scanRowsNow)
	}
}
