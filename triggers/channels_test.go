package triggers

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/pgdev/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// Several listen on one connection, each hears its own, and all are told when it breaks.
func TestChannels(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	c := &Channels{URL: url}
	said := make(chan string, 100)
	listen := func(ctx context.Context, channel string) <-chan error {
		well, over := make(chan struct{}), make(chan error, 1)
		go func() {
			over <- c.Listen(ctx, channel, func() { close(well) }, func(_ context.Context, text string) error {
				said <- channel + " " + text
				return nil
			})
		}()
		select {
		case <-well:
		case err := <-over:
			t.Fatal(err)
		}
		return over
	}
	notify := func(channel, text, want string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), "select pg_notify($1, $2)", channel, text); err != nil {
			t.Fatal(err)
		}
		if want == "" {
			return
		}
		select {
		case got := <-said:
			if got != want {
				t.Errorf("heard %q, want %q", got, want)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("%s was not heard", want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	first := listen(ctx, "up loads")
	second := listen(t.Context(), "Other")
	notify("up loads", "1", "up loads 1")
	notify("Other", "2", "Other 2")
	cancel()
	<-first
	notify("up loads", "3", "")
	notify("Other", "4", "Other 4")
	if _, err := conn.Exec(t.Context(), "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'bellhop channels' and datname = current_database()"); err != nil {
		t.Fatal(err)
	}
	if err := <-second; err == nil || !strings.Contains(err.Error(), "terminating connection") {
		t.Error(err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	third := listen(ctx, "Other")
	notify("Other", "5", "Other 5")
	cancel()
	<-third
}
