package torture

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// ofInstances are the sessions of instances.
const ofInstances = "from pg_stat_activity where datname = current_database() and application_name like 'bellhop %'"

func sessionsEnded(ctx context.Context, s *stage) error {
	s.did("all sessions of instances are ended")
	defer s.pause(ctx, s.between(0, 400*time.Millisecond))
	return s.sql(ctx, "select pg_terminate_backend(pid) "+ofInstances)
}

func readOnly(ctx context.Context, s *stage) error {
	span := s.span(0.3, 1.5)
	s.did("the database is read only for %s", span)
	set := func(value string) error {
		var name string
		if err := s.admin.QueryRow(ctx, "select quote_ident(current_database())").Scan(&name); err != nil {
			return err
		}
		return errors.Join(s.sql(ctx, "alter database "+name+" set default_transaction_read_only = "+value),
			s.sql(ctx, "select pg_terminate_backend(pid) "+ofInstances))
	}
	if err := set("on"); err != nil {
		return err
	}
	s.pause(ctx, span)
	return set("off")
}

// held keeps a transaction open for a while.
func (s *stage) held(ctx context.Context, span time.Duration, options pgx.TxOptions, text string) error {
	return s.again(ctx, text, func() error {
		tx, err := s.admin.BeginTx(ctx, options)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // nothing was written
		if _, err := tx.Exec(ctx, text); err != nil {
			return err
		}
		s.pause(ctx, span)
		return nil
	})
}

func rowsLocked(ctx context.Context, s *stage) error {
	span := s.between(300*time.Millisecond, 2*time.Second)
	s.did("rows of the queue are locked for %s", span)
	return s.held(ctx, span, pgx.TxOptions{},
		"select from bellhop.jobqueue where state in ('ready', 'assigned', 'running') order by random() limit 5 for update")
}

func snapshotHeld(ctx context.Context, s *stage) error {
	s.did("a snapshot is held for 3 s")
	return s.held(ctx, 3*time.Second, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, "select count(*) from bellhop.jobqueue")
}

func tableRewritten(ctx context.Context, s *stage) error {
	s.did("VACUUM FULL and REINDEX")
	return errors.Join(s.sql(ctx, "vacuum full bellhop.jobqueue"), s.sql(ctx, "reindex table bellhop.jobqueue"))
}

func migrated(ctx context.Context, s *stage) error {
	s.did("migrate")
	return s.run(ctx, "migrate")
}

func connectionsUsedUp(ctx context.Context, s *stage) error {
	s.did("all connections are taken")
	var taken []*pgx.Conn
	defer func() {
		for _, c := range taken {
			_ = c.Close(context.WithoutCancel(ctx)) // the server notices either way
		}
	}()
	for range 200 {
		c, err := pgx.Connect(ctx, s.database)
		if err != nil {
			break
		}
		taken = append(taken, c)
	}
	// Sessions that are ended now find no place to come back to.
	err := s.sql(ctx, "select pg_terminate_backend(pid) "+ofInstances)
	for range 5 {
		if c, err := pgx.Connect(ctx, s.database); err == nil {
			taken = append(taken, c)
		}
	}
	s.pause(ctx, s.span(0.3, 1))
	return err
}

// backend gives a process of the server that works for an instance; 0: there is none.
func (s *stage) backend(ctx context.Context) (int, error) {
	pid, err := s.number(ctx, "select coalesce((select pid "+ofInstances+" order by random() limit 1), 0)")
	return int(pid), err
}

func backendKilled(ctx context.Context, s *stage) error {
	pid, err := s.backend(ctx)
	if err != nil || pid == 0 {
		return err
	}
	s.did("SIGKILL to backend %d", pid)
	return syscall.Kill(pid, syscall.SIGKILL)
}

func backendPaused(ctx context.Context, s *stage) error {
	pid, err := s.backend(ctx)
	if err != nil || pid == 0 {
		return err
	}
	span := s.span(0.3, 1.5)
	s.did("SIGSTOP to backend %d for %s", pid, span)
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return nil // it has ended since
	}
	s.pause(ctx, span)
	_ = syscall.Kill(pid, syscall.SIGCONT)
	return nil
}

func serverKilled(ctx context.Context, s *stage) error {
	s.did("SIGKILL to the postmaster")
	s.servers[0].Kill()
	s.pause(ctx, s.between(0, time.Second))
	return s.servers[0].Restart(ctx, "immediate")
}

func serverRestarted(ctx context.Context, s *stage) error {
	s.did("an immediate restart")
	return s.servers[0].Restart(ctx, "immediate")
}

// on runs a statement on one of the servers, whichever it is.
func (s *stage) on(ctx context.Context, server int, text string) (answer string, err error) {
	conn, err := pgx.Connect(ctx, s.servers[server].TCPURL())
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // the server notices either way
	err = conn.QueryRow(ctx, text).Scan(&answer)
	if errors.Is(err, pgx.ErrNoRows) {
		err = nil
	}
	return answer, err
}

// promote kills the primary and makes a primary of its standby.
func (s *stage) promote(ctx context.Context) error {
	s.did("the primary is killed, the standby promoted")
	s.servers[0].Kill()
	s.pause(ctx, s.between(0, s.lag/2))
	answer, err := s.on(ctx, 1, "select pg_promote(true, 60)::text")
	if err == nil && answer != "true" {
		err = errors.New("the standby was not promoted within a minute")
	}
	return err
}

// promotionSynchronous: each commit that a client was told of is on the standby.
func promotionSynchronous(ctx context.Context, s *stage) error {
	conn, err := pgx.Connect(ctx, s.servers[0].TCPURL())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	for _, text := range []string{"alter system set synchronous_standby_names = '*'", "select pg_reload_conf()"} {
		if _, err := conn.Exec(ctx, text); err != nil {
			return err
		}
	}
	err = s.until(ctx, "the standby is synchronous", func() (bool, error) {
		answer, err := s.on(ctx, 0, "select count(*)::text from pg_stat_replication where sync_state = 'sync'")
		return answer == "1", err
	})
	if err != nil {
		return err
	}
	s.pause(ctx, s.between(500*time.Millisecond, 2*time.Second))
	return s.promote(ctx)
}

// promotionAsynchronous: commits of the last second are lost, and with them jobs that agents have run.
func promotionAsynchronous(ctx context.Context, s *stage) error {
	conn, err := pgx.Connect(ctx, s.servers[1].TCPURL())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	for _, text := range []string{"alter system set primary_conninfo = ''", "select pg_reload_conf()"} {
		if _, err := conn.Exec(ctx, text); err != nil {
			return err
		}
	}
	s.did("the standby receives no more")
	s.lostTail = true
	s.pause(ctx, s.between(500*time.Millisecond, 1500*time.Millisecond))
	if err := s.promote(ctx); err != nil {
		return fmt.Errorf("after a lost end: %w", err)
	}
	return nil
}
