package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
	"bellhop/scheduler/notice"
	"bellhop/sql"
)

var (
	noticesEndsSQL, noticesRulesSQL = sql.Query("notices_ends"), sql.Query("notices_rules")
	noticesWriteSQL, noticesTakeSQL = sql.Query("notices_write"), sql.Query("notices_take")
	noticesStepsSQL                 = sql.Query("notices_steps")
	noticesMarkSQL                  = sql.Query("notices_mark")
	noticesGiveUpSQL                = sql.Query("notices_give_up")
	noticesNextSQL                  = sql.Query("notices_next")
)

const (
	endsMost  = 100 // ends of runs that one transaction addresses
	stepsMost = 20  // of a run that a message names
	upMost    = 100 // messages that one statement gives up
)

// Outgoing is the notifications of runs: recipients and delivery.
type Outgoing struct {
	session
	tells  []string      // what this instance can send
	giveUp time.Duration // after so long no try is made any more
}

// NewOutgoing returns a session for messages; it connects at its first use.
func NewOutgoing(url string, tells []string, giveUp time.Duration) (*Outgoing, error) {
	conn, err := newConnection(url, "notices", upkeepByIndex())
	return &Outgoing{session: session{conn}, tells: tells, giveUp: giveUp}, err
}

// Address works out the recipients of ends of runs. It gives how many ends there were.
func (o *Outgoing) Address(ctx context.Context) (n int, err error) {
	err = o.conn.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			n, err = o.address(ctx, tx)
			return err
		})
	})
	if err != nil {
		return 0, fmt.Errorf("work out the recipients of runs' notifications: %w", err)
	}
	return n, nil
}

func (o *Outgoing) address(ctx context.Context, tx pgx.Tx) (int, error) {
	type ended struct {
		id int64
		notice.End
		definition []byte
	}
	rows, err := tx.Query(ctx, noticesEndsSQL, endsMost)
	if err != nil {
		return 0, err
	}
	ends, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (e ended, err error) {
		err = row.Scan(&e.id, &e.Run, &e.Workflow, &e.Project, &e.State, &e.Reason, &e.At, &e.LastSuccess, &e.definition)
		return e, err
	})
	if err != nil || len(ends) == 0 {
		return 0, err
	}
	if rows, err = tx.Query(ctx, noticesRulesSQL); err != nil {
		return 0, err
	}
	rules, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r notice.Rule, err error) {
		var ms int64
		err = row.Scan(&r.Project, &r.Prefix, &r.When, &ms, &r.Mail, &r.Webhook, &r.Command)
		r.UnlessSuccessWithin = time.Duration(ms) * time.Millisecond
		return r, err
	})
	if err != nil {
		return 0, err
	}
	for _, e := range ends {
		channels, targets, needs := []string{}, []string{}, []string{}
		for _, l := range notice.Address(e.End, append(notice.Rules(e.definition), rules...)) {
			channels, targets, needs = append(channels, string(l.Channel)), append(targets, l.Target), append(needs, l.Needs)
		}
		if _, err := tx.Exec(ctx, noticesWriteSQL, e.id, channels, targets, needs, e.LastSuccess, e.Project,
			o.giveUp.Milliseconds()); err != nil {
			return 0, err
		}
	}
	return len(ends), nil
}

// Take takes messages that are due and that there is room for, none of those under way. What of their runs cannot
// be read is left out of them.
func (o *Outgoing) Take(
	ctx context.Context, me scheduler.InstanceID, under []int64, room notice.Room,
) (list []notice.Notice, err error) {
	err = o.conn.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, noticesTakeSQL,
			int64(me), o.tells, room.Most, under, room.Receivers, room.Rooms, room.Each)
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (n notice.Notice, err error) {
			err = row.Scan(&n.ID, &n.Message, &n.Channel, &n.Target, &n.Tries, &n.Receiver, &n.Run, &n.Workflow, &n.Project,
				&n.State, &n.Reason, &n.At, &n.LastSuccess, &n.Version, &n.Event, &n.TriggeredBy, &n.CreatedAt, &n.StartedAt)
			return n, err
		})
		if err != nil {
			return err
		}
		for i := range list {
			if err := stepsOf(ctx, conn, &list[i]); err != nil && !refused(err) {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("take messages that are to be sent: %w", err)
	}
	return list, nil
}

// stepsOf reads which steps of a run did not succeed.
func stepsOf(ctx context.Context, conn *pgx.Conn, n *notice.Notice) error {
	rows, err := conn.Query(ctx, noticesStepsSQL, n.Run, stepsMost)
	if err != nil {
		return err
	}
	var all int
	n.Steps, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (s notice.Step, err error) {
		err = row.Scan(&s.Step, &s.Job, &s.Type, &s.State, &s.ExitCode, &s.Error, &all)
		return s, err
	})
	n.Others = max(0, all-len(n.Steps))
	return err
}

// Mark writes what became of messages that were taken.
func (o *Outgoing) Mark(ctx context.Context, me scheduler.InstanceID, list []notice.Outcome) error {
	ids, errs, over, delays, gone := []int64{}, []string{}, []bool{}, []int64{}, []bool{}
	for _, m := range list {
		ids, errs, over = append(ids, m.ID), append(errs, text(m.Error)), append(over, m.Over)
		delays, gone = append(delays, m.Delay.Milliseconds()), append(gone, m.Gone)
	}
	return o.conn.exec(ctx, "write what became of messages", noticesMarkSQL, int64(me), ids, errs, over, delays, gone)
}

// GiveUp ends messages that were tried for long enough, but none of those under way, and gives them.
func (o *Outgoing) GiveUp(ctx context.Context, me scheduler.InstanceID, under []int64) ([]notice.Lost, error) {
	return rowsOf[notice.Lost](ctx, o.conn, "give up messages", noticesGiveUpSQL, int64(me), upMost, under)
}

// Next is in how long there is something to send besides those under way, to receivers that are not full; negative:
// nothing is.
func (o *Outgoing) Next(
	ctx context.Context, me scheduler.InstanceID, under []int64, full []string,
) (time.Duration, error) {
	next := time.Duration(-1)
	err := o.conn.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		var ms *int64
		if err := conn.QueryRow(ctx, noticesNextSQL, int64(me), under, full).Scan(&ms); err != nil {
			return err
		}
		if ms != nil {
			next = time.Duration(*ms) * time.Millisecond
		}
		return nil
	})
	if err != nil {
		return -1, fmt.Errorf("look for messages: %w", err)
	}
	return next, nil
}
