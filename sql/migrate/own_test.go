package migrate_test

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// A submitter sees and changes its own jobs, and nothing of those of others: they are not there.
func TestOwn_JobsAreTheirSubmitters(t *testing.T) {
	t.Parallel()
	admin, url := setup(t)
	app1, app2 := login(t, admin, url, "bellhop_submitter"), login(t, admin, url, "bellhop_submitter")
	reader, operator := login(t, admin, url, "bellhop_reader"), login(t, admin, url, "bellhop_operator")
	raw := one[int64](t, app1, "insert into bellhop.jobqueue (type, args) values ('a', 'secret') returning id")
	mine := one[int64](t, app1, "select bellhop.submit('a', 'secret', key => 'k', held => true)")
	rjm := one[int64](t, app1, "select bellhop.rjm_setup('a.1', 'X=secret')")
	for _, id := range []int64{raw, mine, rjm} {
		if whose := one[string](t, admin, "select submitted_by from bellhop.jobqueue where id = $1",
			id); whose != app1.Config().User {
			t.Errorf("job %d is %s's, want %s's", id, whose, app1.Config().User)
		}
		exec(t, admin, "insert into bellhop.log (job, level, line) values ($1, 'out', 'said')", id)
	}
	for _, is := range []struct {
		text      string
		own, none int
	}{
		{"select count(*) from bellhop.job", 3, 0},
		{"select count(*) from bellhop.job where submitted_by = current_user", 3, 0},
		{"select count(*) from bellhop.job_log", 3, 0},
		{"select count(*) from bellhop.payload", 3, 0},
		{"select count(*) from bellhop.payload where args = 'secret'", 2, 0},
		{fmt.Sprintf("select count(*) from bellhop.explanation(%d)", mine), 1, 0},
		{fmt.Sprintf("select count(*) from (select bellhop.explain(%d) e) x where e is not null", mine), 1, 0},
		{fmt.Sprintf("select count(*) from (select bellhop.cancel(%d) s) x where s = 'cancelled'", raw), 1, 0},
		{fmt.Sprintf("select count(*) from (select bellhop.retry(%d) s) x where s = 'ready'", raw), 1, 0},
		{fmt.Sprintf("select count(*) from (select bellhop.release(%d) s) x where s = 'ready'", mine), 1, 0},
	} {
		if n := one[int](t, app2, is.text); n != is.none {
			t.Errorf("another's %s: %d", is.text, n)
		}
		if n := one[int](t, app1, is.text); n != is.own {
			t.Errorf("its own %s: %d, want %d", is.text, n, is.own)
		}
	}
	if n := one[int](t, reader, "select count(*) from bellhop.job"); n != 3 {
		t.Errorf("a reader sees %d jobs", n)
	}
	for _, no := range []string{"update bellhop.job set state = 'ready'", "select * from bellhop.every_job", "select * from bellhop.log",
		"insert into bellhop.jobqueue (type, submitted_by) values ('a', 'x')", "update bellhop.jobqueue set submitted_by = 'x'"} {
		denied(t, app1, no)
	}
	denied(t, reader, "select * from bellhop.payload")
	if n := one[int](t, operator, "select count(*) from bellhop.payload"); n != 3 {
		t.Errorf("an operator sees what %d jobs were given", n)
	}
	denied(t, reader, fmt.Sprintf("select bellhop.cancel(%d)", mine)) // it sees the job, so it is told
	if state := one[string](t, operator, "select bellhop.cancel($1)", mine); state != "cancelled" {
		t.Errorf("an operator's cancel: %s", state)
	}
}

// Members of a role that has been SET share its jobs; a job of a login is its own.
func TestOwn_ARoleThatIsSetShares(t *testing.T) {
	t.Parallel()
	admin, url := setup(t)
	one1, two := login(t, admin, url, "bellhop_submitter"), login(t, admin, url, "bellhop_submitter")
	team := "team_" + one1.Config().User
	exec(t, admin,
		fmt.Sprintf("create role %[1]s in role bellhop_submitter; grant %[1]s to %[2]s, %[3]s", team, one1.Config().User,
			two.Config().User))
	defer exec(t, admin, "drop role "+team)
	exec(t, one1, "set role "+team)
	id := one[int64](t, one1, "select bellhop.submit('a', key => 'shared')")
	exec(t, one1, "reset role")
	if again := one[int64](t, two, "select bellhop.submit('a', key => 'shared')"); again != id {
		t.Errorf("the key of a common role gave %d, want %d", again, id)
	}
	if state := one[string](t, two, "select bellhop.cancel($1)", id); state != "cancelled" {
		t.Errorf("it is %s", state)
	}
	exec(t, two, "set role bellhop_submitter") // less than the login: not a member of the team
	if n := one[int](t, two, "select count(*) from bellhop.job"); n != 0 {
		t.Errorf("bellhop_submitter sees %d jobs of the team", n)
	}
}

// A key that another has is taken: neither what its job is, nor whether the content equals, is told.
func TestOwn_AKeyOfAnotherTellsNothing(t *testing.T) {
	t.Parallel()
	admin, url := setup(t)
	app1, app2 := login(t, admin, url, "bellhop_submitter"), login(t, admin, url, "bellhop_submitter")
	operator := login(t, admin, url, "bellhop_operator")
	exec(t, app1, "select bellhop.submit('a', 'PASSWORD=secret', key => 'taken', vars => '{\"A\":\"secret\"}')")
	exec(t, app1, "select bellhop.rjm_setup('b.1', 'PASSWORD=secret')")
	words := func(text string) string {
		var word string
		err := app2.QueryRow(t.Context(), text).Scan(&word)
		if err == nil {
			return word
		}
		return err.Error()
	}
	same := words("select bellhop.submit('a', 'PASSWORD=secret', key => 'taken', vars => '{\"A\":\"secret\"}')::text")
	other := words("select bellhop.submit('a', 'guess', key => 'taken')::text")
	if same != other || same != "ERROR: key 'taken' is taken by a job that others have submitted (SQLSTATE 23505)" {
		t.Errorf("with the same content %q, with other content %q", same, other)
	}
	same, other = words("select bellhop.rjm_setup('b.1', 'PASSWORD=secret')::text"), words("select bellhop.rjm_setup('b.1', 'guess')::text")
	if same != other || same != "ERROR: b.1 is set up already, by others (SQLSTATE 23505)" {
		t.Errorf("rjm_setup: with the same content %q, with other content %q", same, other)
	}
	if code, _ := refusal(t, operator, "select bellhop.submit('a', 'guess', key => 'taken')"); code != "23505" {
		t.Errorf("an operator: %q", code)
	}
}

// What waits for what is for those whose jobs they are.
func TestOwn_NobodyBlocksAnothersJob(t *testing.T) {
	t.Parallel()
	admin, url := setup(t)
	app1, app2 := login(t, admin, url, "bellhop_submitter"), login(t, admin, url, "bellhop_submitter")
	theirs := one[int64](t, app1, "select bellhop.submit('a', key => 'theirs')")
	exec(t, app1, "select bellhop.rjm_setup('child.1', '')")
	mine := one[int64](t, app2, "select bellhop.submit('a', held => true)")
	gone := one[int64](t, admin, "select max(id) + 1000 from bellhop.jobqueue")
	for _, pair := range [][2]int64{{theirs, mine}, {mine, theirs}, {theirs, gone}, {mine, gone}} {
		if code, name := refusal(t, app2, "insert into bellhop.dependency (job, needs) values ($1, $2)", pair[0], pair[1]); code != "23503" {
			t.Errorf("job %d needs %d: %s %s", pair[0], pair[1], code, name)
		}
	}
	for text, want := range map[string]string{
		fmt.Sprintf("select bellhop.submit('a', after => '{%d}')", theirs):     "23503",
		"select bellhop.submit('a', after_keys => '{theirs}')":                 "23503",
		"select bellhop.rjm_setup('parent.1', '', 'n', '{child.1}')":           "23503",
		"select bellhop.submit('a', after_keys => '{child.1}', key => 'mine')": "23503",
	} {
		if code, _ := refusal(t, app2, text); code != want {
			t.Errorf("%s: %q", text, code)
		}
	}
	denied(t, app2, "select * from bellhop.dependency")
	// A reader sees the jobs of others and may wait for them; but they do not wait for his.
	exec(t, admin, "grant bellhop_reader to "+app2.Config().User)
	exec(t, app2, "insert into bellhop.dependency (job, needs) values ($1, $2)", mine, theirs)
	denied(t, app2, "insert into bellhop.dependency (job, needs) values ($1, $2)", theirs, mine)
	// Nor does anybody hold up others who add dependencies: that lock is the owner's alone.
	exec(t, app1, "begin")
	denied(t, app1, "lock table bellhop.dependency_turn in exclusive mode")
	exec(t, app1, "rollback")
}

// A job with locks, or with a limit among its reasons, stands apart from those that ordinary claims take, and rings
// for a pass.
func TestLocks_StandApartAndRing(t *testing.T) {
	t.Parallel()
	admin, url := setup(t)
	app := login(t, admin, url, "bellhop_submitter")
	exec(t, admin, "listen bellhop")
	for _, c := range []struct {
		text  string
		apart bool
	}{
		{"insert into bellhop.jobqueue (type, locks) values ('a', '{big}')", true},
		{"insert into bellhop.jobqueue (type, reasons) values ('a', '{x,rate-limit:5:mail}')", true},
		{"select bellhop.submit('a', locks => '{node:a=shared}')", true},
		{"select bellhop.submit('a', reasons => '{rate-limit:3:mail}')", true},
		{"insert into bellhop.jobqueue (type, reasons) values ('a', '{nightly, of rate-limit:3:x}')", false},
	} {
		exec(t, app, c.text)
		var apart, startable bool
		if err := admin.QueryRow(t.Context(), "select j.locks is not null, exists (select from bellhop.startable s where s.id = j.id) from bellhop.jobqueue j order by j.id desc limit 1").
			Scan(&apart, &startable); err != nil {
			t.Fatal(err)
		}
		if apart != c.apart || startable == c.apart {
			t.Errorf("%s: apart %v, startable %v", c.text, apart, startable)
		}
		if !c.apart {
			continue
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		for payload := ""; payload != "locks"; { // the bell for INSERTs is heard too
			n, err := admin.WaitForNotification(ctx)
			if err != nil {
				t.Fatalf("%s: %v", c.text, err)
			}
			payload = n.Payload
		}
		cancel()
	}
}
