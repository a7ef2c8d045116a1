package ledger

import (
	"log/slog"

	"bellhop/actors/lasting"
	"bellhop/actors/port"
	"bellhop/actors/tree"
)

// Ports: no other actor writes outcomes.
type Ports struct {
	*tree.Peers
	*tree.Identity
	Outbox   *lasting.Outbox
	Recent   *Recent
	Awaited  *lasting.Awaited
	Rows     *lasting.AttachedRows
	Records  port.Records
	Holdings port.Holdings
	Log      *slog.Logger
}
