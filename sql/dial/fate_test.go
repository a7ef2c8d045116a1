package dial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

func TestJudge(t *testing.T) {
	t.Parallel()
	said := func(code string) error { return &pgconn.PgError{Code: code, SeverityUnlocalized: "ERROR"} }
	for _, c := range []struct {
		name string
		err  error
		want Fate
	}{
		{"serialization failure", said("40001"), Here},
		{"deadlock", said("40P01"), Here},
		{"a lock not had in time", said("55P03"), Here},
		{"the statement's time is over", said("57014"), Here},
		{"the disk is full", said("53100"), Here},
		{"an I/O error of the server", said("58030"), Here},
		{"a server that takes no writes", said("25006"), Over},
		{"the same, wrapped", fmt.Errorf("heartbeat: %w", said("25006")), Over},
		{"ended by an administrator", said("57P01"), Over},
		{"another process of the server crashed", said("57P02"), Over},
		{"the database was dropped", said("57P04"), Over},
		{"idle for too long", said("57P05"), Over},
		{"idle in a transaction for too long", said("25P03"), Over},
		{"a transaction that took too long", said("25P04"), Over},
		{"a protocol violation that ends the session", &pgconn.PgError{Code: "08P01", SeverityUnlocalized: "FATAL"}, Over},
		{"the same code, of a statement", said("08P01"), Fault},
		{"a prepared statement lost behind a pooler", said("26000"), Over},
		{"a prepared statement of another's", said("42P05"), Over},
		{"a plan that a migration has spoilt", &pgconn.PgError{Code: "0A000", Routine: "RevalidateCachedQuery"}, Over},
		{"something that the server cannot do", said("0A000"), Fault},
		{"the server starts or stops", said("57P03"), Away},
		{"no connection left", said("53300"), Away},
		{"a wrong password", said("28P01"), Shut},
		{"no line in pg_hba.conf", said("28000"), Shut},
		{"no such database", said("3D000"), Shut},
		{"a standby that was reached", &ReadOnly{"h:1", true}, Away},
		{"a wire that broke", io.ErrUnexpectedEOF, Over},
		{"our own limit of time", context.DeadlineExceeded, Over},
		{"a constraint", said("23505"), Fault},
		{"no right", said("42501"), Fault},
		{"no such column", said("42703"), Fault},
		{"a bug of the server", said("XX000"), Fault},
		{"a URL that is not obeyed", &Unfit{"sslcrl", "no"}, Fault},
	} {
		if got := Judge(c.err); got != c.want {
			t.Errorf("%s: %q, not %q", c.name, got, c.want)
		}
		if errors.Is(c.err, context.DeadlineExceeded) && Lost(c.err) {
			t.Errorf("%s is taken for a database that is away", c.name)
		}
	}
}

func TestMajor(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]int{
		"15.18 (Debian 15.18-0+deb12u1)": 15, "17.0": 17, "18beta1": 18, "": 0, "x": 0,
	} {
		if got := major(version); got != want {
			t.Errorf("%q: %d, not %d", version, got, want)
		}
	}
}
