package view

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/sql"
)

var (
	rightsSQL         = sql.Query("rights")
	doctorServerSQL   = sql.Query("doctor_server")
	doctorOldestSQL   = sql.Query("doctor_oldest")
	doctorTriggersSQL = sql.Query("doctor_triggers")
	doctorSafetySQL   = sql.Query("doctor_safety")
	doctorGrowthSQL   = sql.Query("doctor_growth")
	doctorLoginSQL    = sql.Query("doctor_login")
	doctorTurnsSQL    = sql.Query("doctor_turns")
	lacksSQL          = sql.Query("lacks")
	doctorWorkSQL     = sql.Query("doctor_work")
	doctorKeysSQL     = sql.Query("doctor_keys")
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

// WorkRow is how the jobs of a type go.
type WorkRow struct {
	Type              string
	Failed, Succeeded int64 // of those that have ended lately
	Ready             int64
	Unknown           bool       // no instance serves it, and some wait
	Old               int64      // rows of jobs that were over long ago
	Oldest            *time.Time // when the first of all ended
}

// Work lists how the jobs of each type go: those count that ended since, and
// those are old that ended before.
func (l Look) Work(ctx context.Context, since, before time.Duration) ([]WorkRow, error) {
	return collect[WorkRow](ctx, l.db, "look at how jobs go", doctorWorkSQL, since.Seconds(), before.Seconds())
}

// KeyRow is a key for sealed jobs: how many wait for it, and which live instances have it, and which do not.
type KeyRow struct {
	Key        string
	Jobs       int64
	Has, Lacks string
}

// Keys gives the keys that jobs wait for, and those of the live instances.
func (l Look) Keys(ctx context.Context) ([]KeyRow, error) {
	return collect[KeyRow](ctx, l.db, "look at the keys for sealed jobs", doctorKeysSQL)
}

// Server gives what the server is like.
func (l Look) Server(ctx context.Context) (ServerRow, error) {
	return single[ServerRow](ctx, l.db, "look at the server", doctorServerSQL)
}

// TurnsRow is what a login is for turns at attached tables.
type TurnsRow struct {
	Apart bool // it can do nothing that code of others might want
	May   bool // it may take them
}

// Turns gives what a login is for turns at attached tables.
func (l Look) Turns(ctx context.Context, login string) (TurnsRow, error) {
	return single[TurnsRow](ctx, l.db, "look at the login for attached tables", doctorTurnsSQL, login)
}

// Login gives what this session may do.
func (l Look) Login(ctx context.Context) (LoginRow, error) {
	return single[LoginRow](ctx, l.db, "look at the login", doctorLoginSQL)
}

// Open gives the transactions that are open for longer than age, the oldest first, five at most. A login that is
// not a member of pg_read_all_stats does not see some of those of other accounts.
func (l Look) Open(ctx context.Context, age time.Duration) ([]OpenRow, error) {
	return collect[OpenRow](ctx, l.db, "look for old transactions", doctorOldestSQL, age.Seconds())
}

// Triggers gives the triggers of the schema's tables.
func (l Look) Triggers(ctx context.Context) ([]TriggerRow, error) {
	return collect[TriggerRow](ctx, l.db, "list triggers", doctorTriggersSQL)
}

// UnsafeRow is something that lets a login do more than its roles allow.
type UnsafeRow struct {
	What string
	Mend string // the statement
}

// Unsafe gives what lets a login do more than its roles allow: functions that look up names where their caller says,
// rights
// of PUBLIC, objects and code of others in the schema.
func (l Look) Unsafe(ctx context.Context) ([]UnsafeRow, error) {
	return collect[UnsafeRow](ctx, l.db, "look what others could put in place", doctorSafetySQL)
}

// Growth gives the sizes of the tables that grow, the biggest first.
func (l Look) Growth(ctx context.Context) ([]GrowthRow, error) {
	return collect[GrowthRow](ctx, l.db, "look at sizes", doctorGrowthSQL)
}

// Rights gives the rights that others than the owner have, as the statements
// that give them. See sql.Rights.
func (l Look) Rights(ctx context.Context) ([]string, error) {
	type right struct{ Line string }
	rows, err := collect[right](ctx, l.db, "look at rights", rightsSQL)
	if err != nil {
		return nil, err
	}
	lines := make([]string, len(rows))
	for i, r := range rows {
		lines[i] = r.Line
	}
	return lines, nil
}

func single[T any](ctx context.Context, db Querier, doing, text string, args ...any) (row T, err error) {
	rows, err := collect[T](ctx, db, doing, text, args...)
	if err != nil {
		return row, err
	}
	if len(rows) != 1 {
		return row, fmt.Errorf("%s: %d rows", doing, len(rows))
	}
	return rows[0], nil
}

// Lacks gives which rights on tables that a role is given in statements (of
// sql.Rights) this session does not have, as "INSERT on bellhop.instance".
func (l Look) Lacks(ctx context.Context, statements []string, role string) ([]string, error) {
	var tables, rights []string
	for _, line := range statements {
		m := tableGrant.FindStringSubmatch(line)
		if m == nil || m[3] != role {
			continue
		}
		for _, right := range strings.Split(m[1], ", ") {
			tables, rights = append(tables, m[2]), append(rights, right)
		}
	}
	rows, err := l.db.Query(ctx, lacksSQL, tables, rights)
	if err != nil {
		return nil, fmt.Errorf("look at this login's rights: %w", err)
	}
	missing, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("look at this login's rights: %w", err)
	}
	return missing, nil
}

// tableGrant is a statement that gives rights on a whole table.
var tableGrant = regexp.MustCompile(`^grant ([A-Z, ]+) on bellhop\.(\w+) to (\w+);$`)

var doctorFrontSQL = sql.Query("doctor_front")

// FrontNames is what there is of FOSSology's names.
type FrontNames struct {
	Named     bool     // the schema fossology is there
	Blind     []string // logins that insert rows and may not read public.job
	Instances int64    // that live
}

// FrontNames looks at the schema fossology.
func (l Look) FrontNames(ctx context.Context) (FrontNames, error) {
	return single[FrontNames](ctx, l.db, "look at the schema fossology", doctorFrontSQL)
}

var lossesSQL = sql.Query("look_losses")

// LossRow is what one instance found missing on a server that took over.
type LossRow struct {
	At          time.Time
	Name        string // the instance's
	Was, Server string
	Gone, Again int64 // runs whose jobs have no row any more, and such that are made again
}

// Says tells of it in a sentence.
func (r LossRow) Says() string {
	return fmt.Sprintf("since %s another server answers, which lost what the one before had confirmed: of the runs of %s, %d have no row any more, and %d are made again",
		r.At.UTC().Format(time.DateTime), r.Name, r.Gone, r.Again)
}

// LossSeen is the statement by which an operator says that it was read.
const LossSeen = "select bellhop.loss_seen()"

// Losses are those that no operator has read yet.
func (l Look) Losses(ctx context.Context) ([]LossRow, error) {
	return collect[LossRow](ctx, l.db, "look at what failovers lost", lossesSQL)
}
