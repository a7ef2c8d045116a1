package torture

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/pgdev"
)

// template is the database with the schema that each history copies, on a user's server and on an own one.
const template = "bellhop_torture_template_"

// servers are the places of histories: a user's server, and own ones where a fault harms the server itself.
type servers struct {
	dsn     string // a user's server; empty: none
	program string
	mark    string // in the names of all databases that are made there
	private *pgdev.Cluster
	opened  bool // the template is there
	made    int
}

func newServers(dsn, program string) *servers {
	return &servers{dsn: dsn, program: program, mark: strings.ToLower(rand.Text()[:8])}
}

// named gives the URL of another database on the server of one.
func named(dsn, database string) (string, error) {
	if !strings.Contains(dsn, "://") {
		return dsn + " dbname=" + database, nil // of two, the last one counts
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return "", err
	}
	u.Path = "/" + database
	return u.String(), nil
}

// migrate brings the schema up by the program under test.
func (s *servers) migrate(ctx context.Context, url string) error {
	cmd := exec.CommandContext(ctx, s.program, "migrate", "--database-url", url)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("bellhop migrate: %w: %s", err, said)
	}
	return nil
}

// onUsers runs one statement on the user's server.
func (s *servers) onUsers(ctx context.Context, text string) error {
	conn, err := pgx.Connect(ctx, s.dsn)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // the server notices either way
	_, err = conn.Exec(ctx, text)
	return err
}

// open makes the template on the user's server, where there is one.
func (s *servers) open(ctx context.Context) error {
	if s.dsn == "" {
		return nil
	}
	if err := s.onUsers(ctx, "create database "+template+s.mark+" template template0"); err != nil {
		return err
	}
	s.opened = true
	url, err := named(s.dsn, template+s.mark)
	if err != nil {
		return err
	}
	return s.migrate(ctx, url)
}

// close leaves nothing behind.
func (s *servers) close(ctx context.Context) error {
	var err error
	if s.opened {
		err = s.onUsers(ctx, "drop database if exists "+template+s.mark+" with (force)")
	}
	if s.private != nil {
		err = errors.Join(err, s.private.Stop(ctx))
	}
	return err
}

// own starts a server that is thrown away.
func own(ctx context.Context, follows *pgdev.Cluster) (*pgdev.Cluster, error) {
	return pgdev.Start(ctx, pgdev.Config{
		StandbyOf: follows,
		Log:       slog.New(slog.DiscardHandler),
		Settings: map[string]string{
			"max_connections": "100", "wal_level": "replica", "hot_standby": "on"},
	})
}

// place is where one history happens.
type place struct {
	url  string
	list []*pgdev.Cluster            // servers of torture's own
	drop func(context.Context) error // removes it; never nil
}

// nothing is to be removed.
func nothing(context.Context) error { return nil }

// database makes the place of one history, which is to be dropped after an error too.
func (s *servers) database(ctx context.Context, n needs) (place, error) {
	switch {
	case n.standby:
		return s.pair(ctx)
	case n.own || s.dsn == "":
		return s.copyOfOwn(ctx)
	}
	s.made++
	name := fmt.Sprintf("bellhop_torture_%s_%d", s.mark, s.made)
	if err := s.onUsers(ctx, "create database "+name+" template "+template+s.mark); err != nil {
		return place{drop: nothing}, err
	}
	url, err := named(s.dsn, name)
	return place{url: url, drop: func(ctx context.Context) error {
		return s.onUsers(ctx, "drop database if exists "+name+" with (force)")
	}}, err
}

// copyOfOwn gives a database on the own server that all histories share.
func (s *servers) copyOfOwn(ctx context.Context) (place, error) {
	if s.private == nil {
		c, err := own(ctx, nil)
		if err != nil {
			return place{drop: nothing}, err
		}
		s.private = c
		if err := s.migrate(ctx, c.URL()); err != nil {
			return place{drop: nothing}, err
		}
	}
	s.made++
	name := fmt.Sprintf("torture_%d", s.made)
	url, err := s.private.NewDatabase(ctx, name, "bellhop")
	return place{url, []*pgdev.Cluster{s.private}, func(ctx context.Context) error {
		conn, err := pgx.Connect(ctx, s.private.URL())
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // the server notices either way
		_, err = conn.Exec(ctx, "drop database if exists "+name+" with (force)")
		return err
	}}, err
}

// pair gives a primary and a standby that follows it, for one history alone.
func (s *servers) pair(ctx context.Context) (p place, err error) {
	p.drop = func(ctx context.Context) (err error) {
		for _, c := range p.list {
			err = errors.Join(err, c.Stop(ctx))
		}
		return err
	}
	primary, err := own(ctx, nil)
	if err != nil {
		return p, err
	}
	p.list = append(p.list, primary)
	if err := s.migrate(ctx, primary.URL()); err != nil {
		return p, err
	}
	standby, err := own(ctx, primary)
	if err != nil {
		return p, err
	}
	p.list = append(p.list, standby)
	p.url, err = hosts(p.list...)
	return p, err
}

// lastly bounds what is done after an interrupt.
func lastly(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
}
