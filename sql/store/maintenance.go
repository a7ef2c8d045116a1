package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler/lock"
	"bellhop/sql"
)

// Maintenance does the slow rounds: what the clock makes ready, and why jobs wait.
type Maintenance struct {
	session
	explained *connection // where jobs are told why they wait
	// The last type that was looked at, where more wait than one look takes. ExplainWaiting alone uses it.
	explainFrom string
	locator     *Locator // nil: there is no query of the user's
	// Policy says after how long a job with locks is reserved for. Set before the first use.
	Policy lock.Policy
	// Counts are taken along by commands. Set before the first use; nil: not counted.
	Counts *Counts
	took   time.Time // when they last were
	// Operations is told of orders for many jobs without a worker; it must not block. Set before the first use; nil:
	// another instance carries them out.
	Operations func()
}

// NewMaintenance returns a session for upkeep; it connects at its first use.
func NewMaintenance(url string) (*Maintenance, error) {
	conn, err := newConnection(url, "keeper", upkeep)
	return &Maintenance{session: session{conn}, explained: conn, Policy: lock.AnyLevel}, err
}

var (
	dueSQL                       = sql.Query("due")
	byHandSQL, orphanedClaimsSQL = sql.Query("by_hand"), sql.Query("orphaned_claims")
	lookAgainSQL                 = sql.Query("look_again")
	expireSQL                    = sql.Query("expire")
	expireLeasesSQL              = sql.Query("expire_leases")
)

// A round looks at that many jobs whose dependencies need a look; what is left, because there were more or they are
// locked, soon after.
const (
	lookAgainMost = 1000
	lookAgainSoon = 100 * time.Millisecond
)

// Due makes ready what the clock says, what was changed by hand, and what gone instances and workers hold, and looks at
// dependencies that were not counted yet. It returns how many jobs that were and how long until the next one
// (negative: nothing waits for the clock). Beside an error n tells of those that were made ready before it: nothing
// rings for them.
func (k *Maintenance) Due(ctx context.Context) (n int, next time.Duration, err error) {
	next = -1
	err = k.conn.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		var ms *int64
		if err := conn.QueryRow(ctx, dueSQL).Scan(&n, &ms); err != nil {
			return err
		}
		if ms != nil {
			next = time.Duration(*ms) * time.Millisecond
		}
		due := n
		hand, err := conn.Exec(ctx, byHandSQL)
		if err != nil {
			return err
		}
		n += int(hand.RowsAffected())
		strays, err := conn.Exec(ctx, orphanedClaimsSQL)
		if err != nil {
			return err
		}
		n += int(strays.RowsAffected())
		var leases int
		if err := conn.QueryRow(ctx, expireLeasesSQL, expireMost).Scan(&leases); err != nil {
			return err
		}
		n += leases
		var expired, looked int
		var late *int64
		var more bool
		err = conn.QueryRow(ctx, lookAgainSQL, expireMost, lookAgainMost).Scan(&expired, &late, &looked, &more)
		if err != nil {
			return err
		}
		if expired == expireMost { // there may be more
			late = new(int64)
		}
		if late != nil && (next < 0 || next > time.Duration(*late)*time.Millisecond) {
			next = time.Duration(*late) * time.Millisecond
		}
		n += looked
		more = more || n > due // they may wait for the clock, and were not seen by it
		if more && (next < 0 || next > lookAgainSoon) {
			next = lookAgainSoon
		}
		return nil
	})
	if err != nil {
		return n, -1, fmt.Errorf("look for due jobs: %w", err)
	}
	return n, next, nil
}

// expireMost is how many jobs expire in one transaction.
const expireMost = 1000

// expire cancels jobs that have not begun in time, and gives their number, and the delay in ms until the next look;
// nil: no job has such a time.
func expire(ctx context.Context, conn *pgx.Conn) (n int, next *int64, err error) {
	err = conn.QueryRow(ctx, expireSQL, expireMost).Scan(&n, &next)
	return n, next, err
}
