package actors

import (
	"log/slog"

	"bellhop/actors/lasting"
	"bellhop/actors/port"
	"bellhop/actors/tree"
)

// ledgerPorts: no other actor writes outcomes.
type ledgerPorts struct {
	*tree.Peers
	*tree.Identity
	outbox   *lasting.Outbox
	recent   *recent
	awaited  *lasting.Awaited
	rows     *lasting.AttachedRows
	records  port.Records
	holdings port.Holdings
	log      *slog.Logger
}
