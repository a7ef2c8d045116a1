package doctor

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/sql/view"
)

// bellPatience is how long a ring may take from one connection to another.
const bellPatience = 5 * time.Second

// checkLogins looks at the logins under which things run: the scheduler, the queries of MSQ jobs, and what agents
// say with DB:.
func (d *doctor) checkLogins(ctx context.Context, s *cli.Session) error {
	own, err := s.Login(ctx)
	if err != nil {
		return err
	}
	switch {
	case !own.Superuser && !own.Schedules:
		d.mend("login", own.Login+" may not schedule", d.psql("grant bellhop_scheduler to "+cli.Quoted(own.Login)))
	case own.Superuser && d.config.Production:
		d.mend(
			"login",
			own.Login+" is a superuser: the scheduler needs none",
			"bellhop install roles --logins   # then database.url: postgres://bellhop_serve@…",
		)
	case own.Superuser:
		d.note(
			"login",
			own.Login+" is a superuser: the scheduler needs none",
			"bellhop install roles --logins   # then database.url: postgres://bellhop_serve@…",
		)
	default:
		d.ok("login", own.Login+" may schedule, and is not a superuser")
	}
	if err := d.checkAnswers(ctx, s, own); err != nil {
		return err
	}
	d.checkQueryLogin(ctx, own, "msq_url", "the queries of MSQ jobs", d.config.Database.MSQURL, true)
	speaks := false
	for _, a := range d.config.Agents {
		speaks = speaks || a.DB
	}
	if speaks || d.config.Database.DBURL != "" {
		d.checkQueryLogin(ctx, own, "db_url", "agents' DB: statements",
			cmp.Or(d.config.Database.DBURL, d.config.Database.MSQURL), false)
	}
	return d.checkTurnLogin(ctx, s)
}

// checkAnswers looks whether the scheduler's login may answer for the roles of callers over HTTP.
func (d *doctor) checkAnswers(ctx context.Context, s *cli.Session, own view.LoginRow) error {
	roles := append([]string{"bellhop_reader", "bellhop_operator"}, d.config.CallerRoles()...)
	missing, err := s.NotMine(ctx, roles)
	if err != nil {
		return err
	}
	for _, m := range missing {
		if !m.Exists {
			d.mend(
				"web",
				"there is no role "+m.Role+", under which requests run",
				"bellhop install roles   # or make that role",
			)
			continue
		}
		d.mend(
			"web",
			own.Login+" may not answer requests as "+m.Role,
			d.psql("grant "+cli.Quoted(m.Role)+" to "+cli.Quoted(own.Login)),
		)
	}
	if len(missing) == 0 {
		d.ok("web", own.Login+" may answer for every role that asks")
	}
	return nil
}

func (d *doctor) checkQueryLogin(ctx context.Context, own view.LoginRow, key, runs, url string, apart bool) {
	fresh := "bellhop install roles --logins   # then database." + key + " in bellhop.yaml"
	if url == "" {
		says := "database." + key + " is not set: " + runs + " run as " + own.Login
		if d.where.Embedded && !d.config.Production {
			d.note(key, says, fresh)
		} else {
			d.mend(key, says, fresh)
		}
		return
	}
	conn, err := d.Dial(ctx, cli.Database{URL: url, From: "database." + key}, nil)
	if err != nil {
		d.mend(key, err.Error(), "fix database."+key+" in bellhop.yaml")
		return
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // it is not needed any more
	login, err := view.NewLook(conn).Login(ctx)
	through := false
	if err == nil {
		through, err = cli.Pooled(ctx, conn)
	}
	switch {
	case through:
		d.mend(
			key,
			"it leads through a pooler, and needs its own settings",
			"set database."+key+" in bellhop.yaml to the server itself",
		)
	case err != nil:
		d.mend(key, err.Error(), "fix database."+key+" in bellhop.yaml")
	case login.Login == own.Login:
		d.mend(key, "it is the login of database.url, "+login.Login+": "+runs+" can do all that the scheduler can", fresh)
	case login.Superuser:
		d.mend(key, login.Login+" is a superuser", d.psql("alter role "+cli.Quoted(login.Login)+" nosuperuser"))
	case login.Enters && apart:
		d.mend(key, login.Login+" may use the schema bellhop, and need not",
			d.psql("revoke bellhop_submitter, bellhop_reader, bellhop_operator, bellhop_scheduler from "+cli.Quoted(login.Login),
				"revoke all on schema bellhop from "+cli.Quoted(login.Login)))
	default:
		d.ok(key, login.Login+" runs "+runs)
	}
}

// checkBell rings, and listens whether it hears that.
func (d *doctor) checkBell(ctx context.Context, s *cli.Session) error {
	key := "listen_url"
	where := cli.Database{URL: d.config.Database.ListenURL, From: "database.listen_url"}
	if where.URL == "" {
		key, where = "url", d.where
	}
	direct := "set database.listen_url in bellhop.yaml to the server itself, not to the pooler"
	conn, err := d.Dial(ctx, where, nil)
	if err != nil {
		d.mend("bell", err.Error(), "fix database."+key+" in bellhop.yaml")
		return nil
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // it is not needed any more
	if is, err := cli.Pooled(ctx, conn); err != nil {
		return err
	} else if is {
		d.mend("bell", "database."+key+" leads through a pooler: no ring arrives there", direct)
		return nil
	}
	if is, err := cli.Pooled(ctx, s.Conn); err == nil && is {
		d.note("pooler", "database.url leads through a pooler: bellhop serve makes its connections to database.listen_url",
			"")
	}
	channel := pgx.Identifier{"bellhop_doctor_" + rand.Text()}.Sanitize()
	took, err := ring(ctx, conn, s.Conn, channel)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		d.mend("bell", fmt.Sprintf("a ring was not heard within %s", bellPatience), direct)
	case err != nil:
		return err
	default:
		d.ok("bell", "a ring was heard after "+took.Round(10*time.Microsecond).String())
	}
	return nil
}

// ring listens on one connection, rings on another, and gives how long that took.
func ring(ctx context.Context, ear, hand *pgx.Conn, channel string) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, bellPatience)
	defer cancel()
	if _, err := ear.Exec(ctx, "listen "+channel); err != nil {
		return 0, err
	}
	began := time.Now()
	if _, err := hand.Exec(ctx, "notify "+channel); err != nil {
		return 0, err
	}
	_, err := ear.WaitForNotification(ctx)
	return time.Since(began), err
}
