package migrate_test

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// long is a text of so many letters of three bytes each, which nothing makes shorter.
func long(letters int) string {
	r := rand.New(rand.NewPCG(1, uint64(letters)))
	var s strings.Builder
	for range letters {
		s.WriteRune(rune(0x4e00 + r.IntN(20_000)))
	}
	return s.String()
}

// What a role may write into a column that has an index is refused in our words where the index could not hold it.
func TestLongTexts_AreRefusedBeforeTheirIndexDoes(t *testing.T) {
	t.Parallel()
	admin, url := setup(t)
	exec(t, admin, `select bellhop.workflow_apply('{"workflow":"w","steps":[{"name":"a","type":"cat"}]}')`)
	exec(t, admin, "create table tab (id int primary key, dispatch date)")
	for _, c := range []struct {
		text string
		fits int // letters
	}{
		{"insert into bellhop.jobqueue (type) values ($1)", 166},
		{"insert into bellhop.jobqueue (type, key) values ('a', $1)", 866},
		{"select bellhop.submit('a', key => $1)", 866},
		{"insert into bellhop.jobqueue (type, run_on) values (repeat('t', 500), $1)", 333},
		{"select bellhop.submit('b', run_on => $1)", 333},
		{"insert into bellhop.jobqueue (type, locks) values (repeat('t', 500), array['disk:' || $1 || '=shared'])", 696},
		{"select bellhop.pause($1)", 166},
		{"select bellhop.workflow_event('w', $1)", 200},
		{"select bellhop.attach('tab', 'x', pool => 1, name => $1)", 166},
	} {
		for _, letters := range []int{c.fits + 1, 6400} {
			code, _ := refusal(t, admin, c.text, long(letters))
			if code != "23514" && code != "22023" {
				t.Errorf("%s with %d letters: %q, not a refusal of ours", c.text, letters, code)
			}
		}
		if code, _ := refusal(t, admin, c.text, long(c.fits)); code != "" {
			t.Errorf("%s with %d letters: %s", c.text, c.fits, code)
		}
	}
	conn := login(t, admin, url, "bellhop_submitter")
	id := one[int64](t, conn, "select bellhop.submit('a', held => true)")
	if code, _ := refusal(t, conn, "select bellhop.edit($1, run_on => $2)", id, long(400)); code != "23514" && code != "22023" {
		t.Errorf("edit: %q", code)
	}
}
