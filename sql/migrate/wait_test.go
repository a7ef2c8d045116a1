package migrate_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Who waits in SQL is told how it ended; what it gave back is for operators and the one whose job it is.
func TestWait_InSQL(t *testing.T) {
	t.Parallel()
	admin, url := setup(t)
	app, other := login(t, admin, url, "bellhop_submitter"), login(t, admin, url, "bellhop_submitter")
	reader, operator := login(t, admin, url, "bellhop_reader"), login(t, admin, url, "bellhop_operator")
	id := one[int64](t, app, "select bellhop.submit('a', 'secret')")
	wait := func(conn *pgx.Conn, timeout string) string {
		t.Helper()
		return one[string](t, conn,
			"select concat_ws(' ', coalesce(state, 'none'), exit_code, result, error) from bellhop.wait($1, $2::text::interval)", id, timeout)
	}
	if got := wait(app, "20 ms"); got != "ready" {
		t.Errorf("when the time is up: %q", got)
	}
	if got := wait(app, "0"); got != "ready" {
		t.Errorf("without any time: %q", got)
	}
	told := make(chan string, 1)
	go func() { // it ends while somebody waits
		var got string
		err := app.QueryRow(context.Background(), "select concat_ws(' ', state, exit_code, result, error) from bellhop.wait($1, '1 min')", id).Scan(&got)
		if err != nil {
			got = err.Error()
		}
		told <- got
	}()
	time.Sleep(50 * time.Millisecond) // or it may not wait yet, which gives the same
	exec(t, admin, `update bellhop.jobqueue set state = 'failed', attempt = 1, exit_code = 3, error = 'exit status 3: secret', reason = 'exit status 3',
		result = '{"token": 7}', progress = 0.5, progress_text = 'secret', started_at = now(), ended_at = now() where id = $1`, id)
	if got := <-told; got != `failed 3 {"token": 7} exit status 3: secret` {
		t.Errorf("its submitter: %q", got)
	}
	for who, c := range map[string]struct {
		conn *pgx.Conn
		want string
	}{
		"an operator": {operator, `failed 3 {"token": 7} exit status 3: secret`}, "a reader": {reader, "failed 3 exit status 3"},
		"another app": {other, "none"},
	} {
		if got := wait(c.conn, "1 min"); got != c.want {
			t.Errorf("%s: %q, want %q", who, got, c.want)
		}
	}
	for _, view := range []string{"bellhop.job", "bellhop.every_job"} {
		seen := "select concat_ws(' ', progress, result, progress_text) from " + view
		if got := one[string](t, reader, seen); got != "0.5" {
			t.Errorf("a reader sees %q in %s", got, view)
		}
	}
	if got := one[string](t, app, "select concat_ws(' ', progress, result, progress_text) from bellhop.job"); got != `0.5 {"token": 7} secret` {
		t.Errorf("its submitter sees %q", got)
	}
	denied(t, reader, "select result from bellhop.jobqueue")
	denied(t, app, "insert into bellhop.jobqueue (type, result) values ('a', '1')")
}

// What could never end is refused.
func TestWait_RefusesWhatCannotEnd(t *testing.T) {
	t.Parallel()
	admin, url := setup(t)
	app := login(t, admin, url, "bellhop_submitter")
	for text, want := range map[string]string{
		"select bellhop.wait(bellhop.submit('a'))":                                               "does not start before this transaction commits",
		"begin; set transaction isolation level repeatable read; select bellhop.wait(1); commit": "nothing could be waited for",
	} {
		_, err := app.Exec(t.Context(), text, pgx.QueryExecModeSimpleProtocol)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
		exec(t, app, "rollback")
	}
}
