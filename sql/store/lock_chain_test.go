package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"bellhop/pgdev/pgtest"
	"bellhop/scheduler"
	"bellhop/scheduler/lock"
)

// runsWith is a job that runs and holds this lock alone, whatever else is held.
func (e *env) runsWith(text string) scheduler.JobID {
	e.Helper()
	l := must(lock.Parse(text))
	level, mode := l.Level, l.Mode.String()
	if l.Big {
		level, mode = lock.Big, "exclusive"
	}
	id := e.locked(text)
	e.exec("update bellhop.jobqueue set state = 'running', fence = 1, instance = $2 where id = $1", int64(id), int64(e.me))
	e.exec("insert into bellhop.lock_grant (level, name, job, fence, mode) values ($1, $2, $3, 1, $4)", level, l.NameText(), int64(id), mode)
	return id
}

// Who keeps a job waiting is asked with joins, and means what Conflicts says.
func TestLockHolders_AreThoseWhoConflict(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	texts := []string{"big"}
	for _, level := range []string{"db", "disk"} {
		for _, name := range []string{"*", "?", "a", "b:c=d", `\*`} {
			texts = append(texts, level+":"+name+"=shared", level+":"+name+"=exclusive")
		}
	}
	holders := map[string]scheduler.JobID{}
	for _, text := range texts {
		holders[text] = e.runsWith(text)
	}
	for _, wanted := range texts {
		var want []string
		for _, held := range texts {
			if not, _ := lock.Conflicts(lock.NewSet(must(lock.Parse(wanted))), lock.NewSet(must(lock.Parse(held)))); not {
				want = append(want, fmt.Sprint(holders[held], " ", held))
			}
		}
		got := e.one("select coalesce(string_agg(job || ' ' || held, ', ' order by job), '') from bellhop.lock_holders(array[$1])", wanted)
		if got != strings.Join(want, ", ") {
			t.Errorf("%s is kept waiting by\n%s, want\n%s", wanted, got, strings.Join(want, ", "))
		}
	}
}

// passedInTime is for passes that take long on a slow machine: the database ends one that says nothing for too long,
// and an instance asserts what runs there and makes it again.
func (e *env) passedInTime(most int) (jobs []scheduler.Job) {
	e.Helper()
	d := demand(most)
	d.Locked = true
	pgtest.Eventually(e.TB, time.Minute, "a pass is made", func() bool {
		var err error
		if jobs, err = e.claimer.Claim(e.Context(), e.me, d); err == nil {
			return true
		}
		e.Logf("a pass is not made: %v", err)
		if _, err := e.claimer.Assert(e.Context(), e.me, nil); err != nil {
			e.Logf("nor is it asserted: %v", err)
		}
		return false
	})
	return jobs
}

// A pass that thinks longer than it may say nothing is ended; the same one is given more time, until it is made: else
// its jobs would never start.
func TestLocks_APassThatWasTooSlowIsGivenMoreTime(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	var all []string
	for i := range 3000 {
		all = append(all, fmt.Sprintf("db:%d=exclusive", i))
	}
	id := e.locked(all...)
	e.claimer.silence = passSilence(time.Millisecond)
	if got := ids(e.passedInTime(5)); !slices.Equal(got, []scheduler.JobID{id}) {
		t.Errorf("%v start, want %v", got, id)
	}
	if e.claimer.silence < passSilence(silenceLeast) {
		t.Errorf("the next may say nothing for %v, want %v or more", time.Duration(e.claimer.silence), silenceLeast)
	}
}

func TestPassSilence(t *testing.T) {
	t.Parallel()
	s := passSilence(silenceLeast)
	for range 5 {
		s = s.ended(time.Duration(s))
	}
	for name, c := range map[string]struct {
		got  passSilence
		want time.Duration
	}{
		"ended for silence":   {passSilence(silenceLeast).ended(silenceLeast), 2 * silenceLeast},
		"ended for more":      {s, silenceMost},
		"ended for something": {passSilence(silenceLeast).ended(silenceLeast / 2), silenceLeast},
		"made quickly":        {passSilence(silenceMost).made(time.Millisecond), silenceLeast},
		"made, but only just": {passSilence(silenceMost).made(silenceMost - 1), silenceMost},
		"made with time left": {passSilence(silenceMost).made(silenceMost / 6), silenceMost * 2 / 3},
	} {
		if time.Duration(c.got).Round(time.Millisecond) != c.want.Round(time.Millisecond) {
			t.Errorf("%s: %v, want %v", name, time.Duration(c.got), c.want)
		}
	}
	if silenceMost >= passWait {
		t.Error("others give up before their turn comes")
	}
}

// Ten thousand locks of one job are compared with ten thousand of another by their names, not each with each: that
// would be a hundred million comparisons.
func TestLocks_TenThousandInOneJob(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	names := func(from int) (locks []string) {
		for i := range 10_000 {
			locks = append(locks, fmt.Sprintf("db:%d=exclusive", from+i))
		}
		return locks
	}
	first, second, third := e.locked(names(0)...), e.locked(names(9_999)...), e.locked(names(20_000)...)
	took := e.passedInTime(5)
	if !slices.Equal(ids(took), []scheduler.JobID{first, third}) {
		t.Fatalf("%v start, want %v and %v", ids(took), first, third)
	}
	e.want(second, "behind", "db:9999")
	e.exec("set statement_timeout = '60 s'")
	e.explains(second, "lock_held", "db:9999=exclusive", fmt.Sprintf("job %d", first))
	e.exec("reset statement_timeout")
	e.ends(took...)
	if got := ids(e.passedInTime(5)); !slices.Equal(got, []scheduler.JobID{second}) {
		t.Errorf("then %v start, want %v", got, second)
	}
	if held := e.one("select count(*) from bellhop.lock"); held != "10000" {
		t.Errorf("%s locks are held, want 10000", held)
	}
}

// A name may have every character that PostgreSQL takes: no two names are taken for one, and none is lost on its way.
func TestLocks_NamesWithEveryCharacter(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	var chars []rune
	for c := rune(1); c < 0x250; c++ {
		chars = append(chars, c)
	}
	chars = append(chars, 0x301, 0x200b, 0x200f, 0x202e, 0x2028, 0xfeff, 0xfffd, 0xffff, '漢', '😀', unicode.MaxRune)
	var first []scheduler.JobID
	names := map[scheduler.JobID]string{}
	for range 2 {
		for _, c := range chars {
			name := string(c)
			if name == "*" || name == "?" || name == `\` {
				name = `\` + name
			}
			id := e.locked("db:" + name + "=exclusive")
			if names[id] = name; len(names) <= len(chars) {
				first = append(first, id)
			}
		}
	}
	var took []scheduler.JobID
	for more := e.pass(100); len(more) > 0; more = e.pass(100) {
		took = append(took, more...)
	}
	slices.Sort(took)
	if !slices.Equal(took, first) {
		t.Fatalf("%d start, want one for each of %d names", len(took), len(first))
	}
	for _, id := range took {
		if held := e.one("select name from bellhop.lock where job = $1", int64(id)); held != names[id] {
			t.Errorf("job %d holds %q, want %q", id, held, names[id])
		}
	}
	if behind := e.one("select count(distinct behind) from bellhop.jobqueue where behind <> ''"); behind != fmt.Sprint(len(chars)) {
		t.Errorf("others wait behind %s names, want %d", behind, len(chars))
	}
}
