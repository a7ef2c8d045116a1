package actors_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
)

// An app that has a job's row in hand, or a dependency on it, for as long as it
// likes keeps this job's outcome from being recorded, and no other's.
func TestLedger_AnAppWithARowInHandHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	for name, take := range map[string]string{
		"cancelled, and not committed":            "select bellhop.cancel(id) from bellhop.jobqueue where args = '10s'",
		"its dependency deleted, not committed":   "delete from bellhop.dependency",
		"all rows of running jobs locked by name": "select from bellhop.jobqueue where state = 'running' for update",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, book := setup(t), newJournal(t)
			b.start(2, agent{"solo", 2, book})
			app, err := pgx.Connect(t.Context(), b.url)
			if err != nil {
				t.Fatal(err)
			}
			defer app.Close(context.WithoutCancel(t.Context()))
			b.exec("insert into bellhop.jobqueue (type, args) values ('solo', '10s')")
			b.exec("insert into bellhop.jobqueue (type, args, held) values ('solo', '2ms', true)")
			b.exec("insert into bellhop.dependency (job, needs) select w.id, n.id from bellhop.jobqueue w, bellhop.jobqueue n where w.args = '2ms' and n.args = '10s'")
			b.eventually("it runs, and its dependency is counted", func() bool {
				return b.one("exists (select from bellhop.jobqueue where state = 'running') and not exists (select from bellhop.dependency where not counted)") == "true"
			})
			tx, err := app.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Exec(t.Context(), take); err != nil {
				t.Fatal(err)
			}
			b.eventually("its agent is done with it", func() bool {
				for _, e := range book.read() {
					if e.what == "end" {
						return true
					}
				}
				return false
			})
			b.exec("insert into bellhop.jobqueue (type, args) select 'solo', '1ms' from generate_series(1, 500)")
			b.eventually("all others are recorded", func() bool {
				return b.one("select count(*) from bellhop.jobqueue where args = '1ms' and state = 'succeeded'") == "500"
			})
			if got := b.one("select state from bellhop.jobqueue where args = '10s'"); got != "running" {
				t.Errorf("the one in hand is %s", got)
			}
			if err := tx.Rollback(t.Context()); err != nil {
				t.Fatal(err)
			}
			b.eventually("and then that one", func() bool {
				return b.one("select state from bellhop.jobqueue where args = '10s'") == "succeeded"
			})
			b.stop()
		})
	}
}
