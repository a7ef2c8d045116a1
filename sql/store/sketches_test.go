package store

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"bellhop/scheduler/sketch"
	"bellhop/sql/view"
)

// What the database makes of counts is what scheduler/sketch does: it adds, and fades.
func TestSketches_FadeInTheDatabaseAsInTheCore(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.maintenance.Counts = &Counts{}
	luck := rand.New(rand.NewPCG(1, 2))
	want := map[string]*sketch.Sketch{"mail": {}, "export": {}}
	for round := range 12 {
		for name, n := range map[string]int{"mail": luck.IntN(900), "export": luck.IntN(3) * round * 700} {
			for range n {
				d := time.Duration(luck.ExpFloat64() * float64(time.Second) * float64(round+1))
				e.maintenance.Counts.Took.Count(name, d)
				want[name].Add(d)
			}
			want[name].Fade()
		}
		e.flush()
		got, err := view.NewLook(e.conn).Sketches(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for name := range want {
			if took := got.Took[name]; !slices.Equal(took.Pairs(), want[name].Pairs()) {
				t.Fatalf("round %d, %s: %v and not %v", round, name, took.Pairs(), want[name].Pairs())
			}
		}
	}
}

// flush has what was counted written.
func (e *env) flush() {
	e.Helper()
	e.maintenance.took = time.Time{}
	if _, err := e.maintenance.RunCommands(e.Context(), e.me); err != nil {
		e.Fatal(err)
	}
}

// A row of a sketch that somebody has in hand keeps no command waiting; what could not
// be written for another reason is written later.
func TestSketches_KeepNoCommandWaiting(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.maintenance.Counts = &Counts{}
	count := func() { e.maintenance.Counts.Took.Count("mail", time.Second) }
	total := func() int64 {
		t.Helper()
		s, err := view.NewLook(e.conn).Sketches(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		mail := s.Took["mail"]
		return mail.N()
	}
	count()
	e.flush()
	e.exec("begin")
	e.exec("select from bellhop.sketch for update")
	count()
	e.flush()
	if n := total(); n != 1 {
		t.Errorf("%d: the row is somebody's", n)
	}
	e.exec("commit")
	e.exec("alter table bellhop.sketch rename to away")
	count()
	e.maintenance.took = time.Time{}
	if _, err := e.maintenance.RunCommands(t.Context(), e.me); err == nil {
		t.Fatal("there is no such table")
	}
	e.exec("alter table bellhop.away rename to sketch")
	count()
	e.flush()
	if n := total(); n != 3 {
		t.Errorf("%d were counted", n)
	}
	e.exec("insert into bellhop.sketch (what, name, at) select 'took', g::text, now() - g * interval '1 s' from generate_series(1, 1200) g")
	e.maintenance.Counts.Took.Count("new", time.Second)
	e.flush()
	if n := e.one("select count(*) || ' ' || count(*) filter (where name in ('mail', 'new', '1')) from bellhop.sketch"); n != "1000 3" {
		t.Errorf("of names that come and go: %s", n)
	}
}
