package store

import (
	"context"
	"fmt"
	"time"

	"bellhop/sql"
)

var (
	rightsSQL         = sql.Query("rights")
	doctorServerSQL   = sql.Query("doctor_server")
	doctorOldestSQL   = sql.Query("doctor_oldest")
	doctorTriggersSQL = sql.Query("doctor_triggers")
	doctorGrowthSQL   = sql.Query("doctor_growth")
	doctorLoginSQL    = sql.Query("doctor_login")
)

// ServerRow is what a server and the session on it are like.
type ServerRow struct {
	Version           int // server_version_num
	Standby           bool
	ReadOnly          bool // the session's transactions
	Fsync             bool
	FullPageWrites    bool
	SynchronousCommit string
	SynchronousSource string // where that is set, in the words of pg_settings
	Autovacuum        bool
	NotifyUsage       float64 // of the notification queue, 0 to 1
	Clock             time.Time
	MaxConnections    int
	Connections       int
	Database          string
	Login             string
	SeesAll           bool // what other logins do
	Superuser         bool
}

// OpenRow is a transaction that is open for long.
type OpenRow struct {
	PID      int // 0: a prepared one
	Login    string
	Name     string // application_name
	State    string
	Age      float64 // seconds
	Prepared string  // its name, where it is a prepared one
}

// TriggerRow is a trigger on one of the schema's tables.
type TriggerRow struct {
	OnTable string // with the schema's name
	Name    string
	Fires   bool // it is not disabled
}

// GrowthRow is the size of a table that grows.
type GrowthRow struct {
	Name  string
	Bytes int64 // with its indexes
	Rows  int64 // about
	Dead  int64 // rows that wait for vacuum, about
}

// LoginRow is what a session's login may do.
type LoginRow struct {
	Login     string
	Superuser bool
	Enters    bool // may use the schema
	Schedules bool // may change the queue as an instance does
}

// Server gives what the server is like.
func (l Look) Server(ctx context.Context) (ServerRow, error) {
	return single[ServerRow](ctx, l.db, "look at the server", doctorServerSQL)
}

// Login gives what this session may do.
func (l Look) Login(ctx context.Context) (LoginRow, error) {
	return single[LoginRow](ctx, l.db, "look at the login", doctorLoginSQL)
}

// Open gives the transactions that are open for longer than age, the oldest
// first, five at the most. Of other accounts' some are not seen by who is not
// a member of pg_read_all_stats.
func (l Look) Open(ctx context.Context, age time.Duration) ([]OpenRow, error) {
	rows, err := collect[OpenRow](ctx, l.db, doctorOldestSQL, age.Seconds())
	if err != nil {
		return nil, fmt.Errorf("look for old transactions: %w", err)
	}
	return rows, nil
}

// Triggers gives the triggers of the schema's tables.
func (l Look) Triggers(ctx context.Context) ([]TriggerRow, error) {
	rows, err := collect[TriggerRow](ctx, l.db, doctorTriggersSQL)
	if err != nil {
		return nil, fmt.Errorf("list triggers: %w", err)
	}
	return rows, nil
}

// Growth gives the sizes of the tables that grow, the biggest first.
func (l Look) Growth(ctx context.Context) ([]GrowthRow, error) {
	rows, err := collect[GrowthRow](ctx, l.db, doctorGrowthSQL)
	if err != nil {
		return nil, fmt.Errorf("look at sizes: %w", err)
	}
	return rows, nil
}

// Rights gives the rights that others than the owner have, as the statements
// that give them. See sql.Rights.
func (l Look) Rights(ctx context.Context) ([]string, error) {
	type right struct{ Line string }
	rows, err := collect[right](ctx, l.db, rightsSQL)
	if err != nil {
		return nil, fmt.Errorf("look at rights: %w", err)
	}
	lines := make([]string, len(rows))
	for i, r := range rows {
		lines[i] = r.Line
	}
	return lines, nil
}

func single[T any](ctx context.Context, db Querier, doing, text string) (row T, err error) {
	rows, err := collect[T](ctx, db, text)
	if err == nil && len(rows) != 1 {
		err = fmt.Errorf("%d rows", len(rows))
	}
	if err != nil {
		return row, fmt.Errorf("%s: %w", doing, err)
	}
	return rows[0], nil
}
