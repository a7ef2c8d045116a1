package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/pgdev/pgtest"
	"bellhop/pgdev/wire"
)

// before starts a proxy before any server.
func before(t *testing.T, network, address string) *wire.Proxy {
	t.Helper()
	p, err := wire.Before(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// through starts a proxy before the database and gives its URL through it.
func through(t *testing.T, database string) (*wire.Proxy, string) {
	t.Helper()
	p, url, err := wire.Through(database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p, url
}

// TestProxy_DoesWhatItIsToldTo: the faults of the other tests are real ones.
func TestProxy_DoesWhatItIsToldTo(t *testing.T) {
	t.Parallel()
	p, url := through(t, pgtest.URL(t))
	ask := func(conn *pgx.Conn, within time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		return conn.QueryRow(ctx, "select 1").Scan(new(int))
	}
	open := func(name string) *pgx.Conn {
		config, err := pgx.ParseConfig(url)
		if err != nil {
			t.Fatal(err)
		}
		config.RuntimeParams["application_name"] = name
		conn, err := pgx.ConnectConfig(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			_ = conn.Close(ctx) // through a broken line
		})
		return conn
	}
	one, other := open("one"), open("other")
	p.Set(wire.Fault{Only: "one", Silent: true})
	if err := ask(one, 200*time.Millisecond); err == nil {
		t.Error("an answer came through a silent line")
	}
	if err := ask(other, 10*time.Second); err != nil {
		t.Errorf("the fault of one hit the other: %v", err)
	}
	p.Set(wire.Fault{Delay: 50 * time.Millisecond})
	if began := time.Now(); ask(other, 10*time.Second) != nil || time.Since(began) < 100*time.Millisecond {
		t.Error("nothing was delayed")
	}
	p.Set(wire.Fault{Only: "other", Cut: wire.AfterBytes(func() int { return 1 })})
	if err := ask(other, 10*time.Second); err == nil || p.AnswersCut() != 1 {
		t.Errorf("the answer was not cut: %v", err)
	}
	p.Set(wire.Fault{})
	deaf := open("deaf")
	p.Deafen("")
	if err := ask(deaf, 200*time.Millisecond); err == nil {
		t.Error("an answer came through a deaf line")
	}
	last := open("last")
	if err := ask(last, 10*time.Second); err != nil {
		t.Errorf("a line that was opened later is deaf too: %v", err)
	}
	p.Reset("last")
	if err := ask(last, 10*time.Second); err == nil {
		t.Error("a line that was reset works")
	}
}
