package e2e

import (
	"regexp"
	"strconv"
	"testing"
	"time"

	"bellhop/pgdev/pgtest"
)

// promised is the number of a sentence of explain that tells when something is.
func promised(t *testing.T, sentence, pattern string) time.Duration {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(sentence)
	if m == nil {
		t.Fatalf("%q tells no time: %s", sentence, pattern)
	}
	return spoken(t, m[1])
}

func spoken(t *testing.T, text string) time.Duration {
	t.Helper()
	s, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(s * float64(time.Second))
}

// A row with many before it is told how many, and when it starts: what then happens is about that.
func TestExplain_ARowStartsAboutWhenItSays(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(agents("type: nap, command: [" + e.worker("nap", `sleep 0.3`) + "]"))
	e.sql("create table naps (id integer primary key, dispatch timestamptz, outcome text)")
	e.ok("attach", "naps", "--type", "nap", "--pool", "2", "--status-col", "outcome", "--index")
	e.sql("insert into naps select g from generate_series(1, 120) g")
	e.eventually("there is a rate", "select bellhop.rows_rate(rate, rate_since, rate_ended) > 0 and done > 12 from bellhop.attachment")
	const row = "select sentence from bellhop.explain_row('naps', '120')"
	says, asked := value[string](e, row), time.Now()
	has(t, says, "rows come before it")
	about := promised(t, says, `starts in about ([0-9]+) s`)
	pgtest.Eventually(t, 2*time.Minute, "the row is taken", func() bool {
		return value[bool](e, "select dispatch is not null from naps where id = 120")
	})
	if took := time.Since(asked); took < about/3-2*time.Second || took > 3*about+5*time.Second {
		t.Errorf("it says %q, and was taken after %v", says, took)
	}
	has(t, e.ok("attachments"), "naps")
}

// Rows that are quick are taken ahead of a free place: more in a turn than the pool has, and no more run at once.
func TestAttach_QuickRowsAreTakenAheadOfAFreePlace(t *testing.T) {
	t.Parallel()
	const rows, pool = 800, 3
	e := setup(t)
	e.serve("hosts:\n  - {name: local, slots: 8}\n" + agents("type: quick, command: ["+e.worker("quick", `echo "+" >> $DIR/at; echo "-" >> $DIR/at`)+"]"))
	e.sql("create table quick (id integer primary key, dispatch timestamptz); create table turn (n integer)")
	e.sql(`create function count_turn() returns trigger language plpgsql as $$ begin insert into turn values (1); return null; end $$;
	       create trigger count_turn after update on quick for each statement execute function count_turn()`)
	e.sql("insert into quick select g from generate_series(1, " + strconv.Itoa(rows) + ") g")
	e.ok("attach", "quick", "--type", "quick", "--pool", strconv.Itoa(pool), "--index")
	e.ran("quick", "dispatch")
	if turns := value[int](e, "select count(*) from turn"); turns > rows/pool/2 {
		t.Errorf("%d rows took %d turns: no more at once than the pool has", rows, turns)
	}
	running, most := 0, 0
	for _, line := range e.lines("at") {
		if line == "+" {
			running++
		} else {
			running--
		}
		most = max(most, running)
	}
	if most > pool {
		t.Errorf("%d ran at once, in a pool of %d", most, pool)
	}
	if n := value[int](e, "select count(*) from bellhop.jobqueue where type = 'quick' and state = 'succeeded'"); n != rows {
		t.Errorf("%d of %d rows are done", n, rows)
	}
	if got := value[int64](e, "select done from bellhop.attachment"); got != rows {
		t.Errorf("done says %d", got)
	}
	if out := value[int](e, "select count(*) from (select id, lag(id) over (order by started_at, id) as before from bellhop.jobqueue where type = 'quick') x where id < before - 8"); out > rows/20 {
		t.Errorf("%d rows started far out of the order of their keys", out)
	}
}
