package e2e

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// as is the test's database under another login, which has no password.
func (e *env) as(login string) string {
	e.t.Helper()
	u, err := url.Parse(e.url)
	if err != nil {
		e.t.Fatal(err)
	}
	u.User = url.User(login)
	if q := u.Query(); q.Get("user") != "" {
		q.Set("user", login)
		u.RawQuery = q.Encode()
	}
	return u.String()
}

// login makes a login of the test's own.
func (e *env) login(name string) string {
	e.t.Helper()
	name = fmt.Sprintf("%s_%d", name, value[int](e, "select oid::int from pg_database where datname = current_database()"))
	e.sql("create role " + pgx.Identifier{name}.Sanitize() + " login")
	e.t.Cleanup(func() {
		ctx := context.WithoutCancel(e.t.Context())
		for _, what := range []string{"drop owned by ", "drop role "} {
			if _, err := e.pool.Exec(ctx, what+pgx.Identifier{name}.Sanitize()); err != nil {
				e.t.Error(err)
			}
		}
	})
	return name
}

// TestServe_EndsWhereItsLoginMayNot: it would try for ever.
func TestServe_EndsWhereItsLoginMayNot(t *testing.T) {
	t.Parallel()
	e := setup(t)
	none, some := e.login("nothing"), e.login("some")
	e.sql("grant bellhop_operator to " + some)
	for login, lacks := range map[string]string{none: "USAGE on schema bellhop", some: " on bellhop."} {
		i := e.start(e.configuration(fmt.Sprintf("database: {url: %q}\n", e.as(login)) + agents("type: a, command: [/bin/true]")))
		if code := i.exit(); code != 6 {
			t.Errorf("%s: exit code %d", login, code)
		}
		has(t, i.said(), login+" may not schedule", lacks, "grant bellhop_scheduler to", login)
	}
	e.sql("grant bellhop_scheduler to " + some)
	e.serve(fmt.Sprintf("database: {url: %q}\n", e.as(some)) + agents("type: a, command: [/bin/true]"))
}

func TestServe_EndsWhereThereIsNoSchemaAndItMayNotMakeOne(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.sql("drop schema bellhop cascade; drop schema bellhop_attached cascade")
	login := e.login("nothing")
	i := e.start(e.configuration(fmt.Sprintf("database: {url: %q}\n", e.as(login))))
	if code := i.exit(); code != 6 {
		t.Errorf("exit code %d", code)
	}
	has(t, i.said(), "there is no schema bellhop yet", "bellhop migrate")
}

// TestServe_RefusesAtTheStart: each of these was found out only after the start, or never.
func TestServe_RefusesAtTheStart(t *testing.T) {
	t.Parallel()
	e := setup(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	nobody := e.as("nobody_of_that_name")
	for _, c := range []struct {
		code int
		says string
		yaml string
		args []string
		env  string
	}{
		{2, "is not a valid address", "", []string{"--listen", "nonsense"}, ""},
		{2, "is not a valid address", "", []string{"--listen", "127.0.0.1:99999"}, ""},
		{2, "cannot listen", "", []string{"--listen", "192.0.2.1:8470", "--token-file", e.file("token", strings.Repeat("t", 20), 0o600)}, ""},
		{7, "another program listens on " + taken.Addr().String(), "", []string{"--listen", taken.Addr().String()}, ""},
		{2, "token: ", "", []string{"--token-file", "/nonexistent"}, ""},
		{5, "database.msq_url", fmt.Sprintf("database: {url: %q, msq_url: %q}\n", e.url, nobody), nil, ""},
		{5, "database.db_url", fmt.Sprintf("database: {url: %q, db_url: %q}\n", e.url, nobody), nil, ""},
		{5, "database.listen_url", fmt.Sprintf("database: {url: %q, listen_url: %q}\n", e.url, nobody), nil, ""},
		{2, "msq_url", fmt.Sprintf("database: {url: %q, msq_url: nonsense}\n", e.url), nil, ""},
		{2, "OTEL_EXPORTER_OTLP_ENDPOINT is \"nonsense\"", "", nil, "OTEL_EXPORTER_OTLP_ENDPOINT=nonsense"},
		{2, "http://localhost:4318", "", nil, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=localhost:4317"},
		{2, "OTEL_TRACES_SAMPLER", "", nil, "OTEL_TRACES_SAMPLER=nonsense"},
	} {
		e.env = nil
		if c.env != "" {
			e.env = []string{c.env}
		}
		i := e.start(e.configuration(c.yaml+agents("type: a, command: [/bin/true]")), c.args...)
		if code := i.exit(); code != c.code {
			t.Errorf("%v %s%s: exit code %d, want %d", c.args, c.yaml, c.env, code, c.code)
		}
		has(t, i.said(), c.says)
	}
	if n := value[int](e, "select count(*) from bellhop.instance"); n != 0 {
		t.Errorf("%d instances have registered", n)
	}
}
