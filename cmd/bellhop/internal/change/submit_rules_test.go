package change

import (
	"os"
	"testing"

	"github.com/jackc/pgx/v5"

	"bellhop/cmd/bellhop/internal/clitest"
	"bellhop/pgdev/pgtest"
	"bellhop/scheduler/grammar"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func TestSubmitRules_CoverEveryConstraintOfTheQueue(t *testing.T) {
	t.Parallel()
	rows, _ := clitest.Migrated(t).Query(t.Context(), `select conname from pg_constraint where contype = 'c'
		and (conrelid = 'bellhop.jobqueue'::regclass or conname = 'dependency_wanted_ends')
		union all
		select 'jobqueue_' || r[1] from regexp_matches((select prosrc from pg_proc where oid = 'bellhop.refuse'::regproc), 'then ''(\w+)''', 'g') r`)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if _, ok := grammar.Broken(name, grammar.SQL); !ok {
			t.Errorf("no words for %s", name)
		}
	}
	if len(names) != len(grammar.Rules()) {
		t.Errorf("%d constraints, words for %d", len(names), len(grammar.Rules()))
	}
}
