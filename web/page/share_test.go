package page

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"bellhop/sql/view"
)

// The page of a type with shares lists its keys as text, those with the most work first, and counts the others.
func TestType_ListsTheKeysOfItsShares(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	s.exec(`insert into bellhop.jobqueue (type) values ('plain')`)
	s.exec(`insert into bellhop.jobqueue (type, share) select 'mail', '<b>"' || g % 3 from generate_series(1, 8) g`)
	s.exec(`insert into bellhop.share_line select 'mail', '', 0, share, 0, 0, 1, false, 7 from bellhop.jobqueue
		where share is not null group by share`)
	s.exec(`insert into bellhop.share select 'mail', '<b>"' || g, 0.3 from generate_series(2, 30) g`)
	s.exec(`insert into bellhop.jobqueue (type, share, state, attempt, fence, started_at) values ('mail', 'runs', 'running', 1, 1, now())`)
	s.exec(`insert into bellhop.jobqueue (type, share, state, attempt, fence, started_at, ended_at, exit_code)
		select 'mail', 'done', 'succeeded', 1, 1, now() - interval '9 minutes', now() - interval '8 minutes', 0 from generate_series(1, 3)`)
	page := s.get(http.StatusOK, "/types/mail")
	_, table, _ := strings.Cut(page, `id="h-keys"`)
	table, _, _ = strings.Cut(table, "</section>")
	before := -1
	for _, want := range []string{
		`<b>runs</b><td class="n" data-l="weight">1<td class="n" data-l="waiting">0<td class="n" data-l="running">1<td class="n" data-l="started">0<` +
			`td class="n" data-l="last hour">1<td class="n" data-l="part">25 %<td class="n" data-l="due">23 %<`,
		`&lt;b&gt;&#34;1</b>`,
		`&lt;b&gt;&#34;2</b><td class="n" data-l="weight">0.3<td class="n" data-l="waiting">3<td class="n" data-l="running">0<td class="n" data-l="started">7<`,
		`&lt;b&gt;&#34;0</b><td class="n" data-l="weight">1<td class="n" data-l="waiting">2<`,
		`<b>done</b><td class="n" data-l="weight">1<td class="n" data-l="waiting">0<td class="n" data-l="running">0<td class="n" data-l="started">0<` +
			`td class="n" data-l="last hour">3<td class="n" data-l="part">75 %<td class="n" data-l="due">23 %<td class="n wide-only">3 min 00 s<`,
		"13 more keys.", "bellhop share ls mail",
	} {
		at := strings.Index(table, want)
		if at < before || at < 0 {
			t.Errorf("%s stands at %d, behind %d, in\n%s", want, at, before, table)
		}
		before = max(at, before)
	}
	raw := strings.Contains(table, "<b><b>") || strings.Contains(table, "may be more")
	if n := strings.Count(table, "<tr><td"); n != keysShown || raw {
		t.Errorf("it lists %d keys:\n%s", n, table)
	}
	if strings.Contains(s.get(http.StatusOK, "/types/plain"), "h-keys") {
		t.Error("a type without shares has a table of keys")
	}
}

// A key that runs stands before one that waits, however many of its jobs do.
func TestFirstKeys_ThoseThatRunBeforeThoseThatWait(t *testing.T) {
	t.Parallel()
	k := firstKeys([]view.ShareRow{
		{Name: "a", Started: 9}, {Name: "b", Waiting: 70}, {Name: "c", Running: 1}, {Name: "d", Running: 2, Waiting: 1}, {Name: "e", Waiting: 71},
	})
	var names []string
	for _, row := range k.Keys {
		names = append(names, row.Name)
	}
	if got := fmt.Sprint(names, k.More); got != "[d c e b a] 0" {
		t.Errorf("they are %s", got)
	}
}
