package page

import (
	"fmt"
	"html"
	"net/http"
	"slices"
	"strings"
	"testing"

	"bellhop/sql/view"
	"bellhop/web"
)

// rowsOf gives the parts of a page that begin with a mark.
func rowsOf(page, mark string) []string { return strings.Split(page, mark)[1:] }

// named fails unless each part shows the name at its place in the list, and no part is left over.
func named(t *testing.T, what string, parts []string, names ...string) {
	t.Helper()
	if len(parts) != len(names) {
		t.Fatalf("%s: %d entries, not %d:\n%s", what, len(parts), len(names), strings.Join(parts, "\n"))
	}
	for i, name := range names {
		if !strings.Contains(parts[i], "<b>"+name+"</b>") {
			t.Errorf("%s: entry %d is not %s:\n%s", what, i, name, parts[i])
		}
	}
}

// What keeps rows from being run stands first, with the command that changes it. Only an operator reads commands.
func TestAttachments_TroubleComesFirst(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	if page := s.get(http.StatusOK, "/attachments"); !strings.Contains(page, "<code>bellhop attach TABLE --cmd PROGRAM --pool 4</code>") {
		t.Errorf("without an attached table the page does not say what to type:\n%s", page)
	}
	s.exec(`create schema "My Shop"; create table "My Shop"."it's" (id integer primary key, dispatch date)`)
	s.exec(`select bellhop.attach('"My Shop"."it''s"', type => 'mail', pool => 2, name => 'aside')`)
	for _, name := range []string{"ends", "idle", "image", "gone", "lame", "strange"} {
		s.exec(fmt.Sprintf(`create table %s (id integer primary key, dispatch date)`, name))
		s.exec(fmt.Sprintf(`select bellhop.attach('%s', cmd => '{/opt/thumb,-q}', pool => 4)`, name))
	}
	s.exec(`update bellhop.attachment set waiting = 10001, waiting_at = now(), done = 12345, failed = 2 where name = 'image'`)
	s.exec(`update bellhop.attachment set waiting = 3, waiting_at = now() - interval '90 s', pool = 0 where name = 'idle'`)
	s.exec(`update bellhop.attachment set detached_at = now() where name = 'ends'`)
	s.exec(`update bellhop.attachment set state = 'broken', trouble = 'no login (bellhop doctor)' where name = 'strange'`)
	s.exec(`insert into bellhop.set_aside (attachment, digest, key, reason, outcome, again_at)
		select id, sha256('7'), '7', 'not row 7', false, now() from bellhop.attachment where name = 'aside'`)
	s.exec(`drop table gone`)
	s.exec(`do $$ begin execute (select format('drop function bellhop_attached.%I(jsonb, int4, text[])', turn)
		from bellhop.attachment where name = 'lame'); end $$`)
	for _, who := range []web.Identity{aReader, anOperator} {
		s.who = who
		page := html.UnescapeString(s.get(http.StatusOK, "/attachments"))
		stuck := rowsOf(page, `<li><a href="/jobs?key=`)
		named(t, "stuck", stuck, "gone", "lame", "strange", "aside", "idle")
		for i, want := range []string{
			"<code>bellhop detach gone</code>", "<code>bellhop attach public.lame</code>", "<code>bellhop doctor</code>",
			`1 row is set aside: not row 7 (bellhop explain aside 7)</span><code>bellhop attach '"My Shop"."it'\''s"'</code>`,
			"<code>bellhop attach public.idle --pool 4</code>",
		} {
			if !strings.Contains(stuck[i], want) {
				t.Errorf("%s: no %s in\n%s", who.Role, want, stuck[i])
			}
		}
		tables := rowsOf(page, `<tr data-href="/jobs?key=`)
		named(t, "tables", tables, "gone", "lame", "strange", "aside", "idle", "image", "ends")
		for i, list := range map[int][]string{
			4: {">3 <small><time datetime=", "0 of 0"},
			5: {`data-l="waiting">10,000+<`, ">12,345</a>", "state=failed&state=cancelled&state=quarantined&type=attachment", "public.image, key id"},
			6: {`<span class="state detached">`},
		} {
			for _, want := range list {
				if !strings.Contains(tables[i], want) {
					t.Errorf("%s: no %s in\n%s", who.Role, want, tables[i])
				}
			}
		}
		if told := strings.Contains(page, "/opt/thumb -q"); told != (who.Role == anOperator.Role) {
			t.Errorf("%s reads the command: %v", who.Role, told)
		}
	}
	s.who = web.Identity{Name: "shop", Role: "bellhop_submitter", Via: "token"}
	s.get(http.StatusForbidden, "/attachments")
	if strings.Contains(s.get(http.StatusOK, "/jobs"), `href="/attachments"`) {
		t.Error("the page is offered to a submitter, who may not see it")
	}
}

// The links lead to the jobs of that table's rows, and to no others.
func TestAttachments_LeadToTheirJobs(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	s.exec(`create table "a & b" (id integer primary key, dispatch date)`)
	s.exec(`select bellhop.attach('"a & b"', type => 'big mail', pool => 4)`)
	s.exec(`insert into bellhop.jobqueue (type, key) values ('big mail', 'a & b/1'), ('big mail', 'a & b/2'), ('big mail', 'a & bc/3'),
		('mail', 'a & b/4'), ('big mail', 'a & b/5')`)
	s.exec(`update bellhop.jobqueue set state = 'failed', attempt = 1, started_at = now(), ended_at = now() where id = 2`)
	s.exec(`update bellhop.jobqueue set state = 'succeeded', attempt = 1, started_at = now(), ended_at = now() where id = 5`)
	s.exec(`insert into bellhop.attached (attachment, digest, key, job, live) values (1, sha256('1'), '1', 1, true)`)
	s.exec(`update bellhop.attachment set done = 1, failed = 1`)
	page := s.get(http.StatusOK, "/attachments")
	for text, want := range map[string][]string{
		"<b>a &amp; b</b></a>": {"1", "2"}, "1</a> of 4": {"1"}, `1</a><td class="n" data-l="failed">`: {"5"},
		`1</a><td class="n" data-l="rate">`: {"2"},
	} {
		before, _, found := strings.Cut(page, text)
		at := strings.LastIndex(before, `href="`)
		if !found || at < 0 {
			t.Fatalf("no %s in\n%s", text, page)
		}
		link, _, _ := strings.Cut(before[at+len(`href="`):], `"`)
		var got []string
		for _, row := range rowsOf(s.get(http.StatusOK, html.UnescapeString(link)), `<tr id="job-`) {
			id, _, _ := strings.Cut(row, `"`)
			got = append(got, id)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s leads to jobs %v, not %v: %s", text, got, want, link)
		}
	}
}

// A look at hundreds of attached tables lists those in trouble, and says how many are left out.
func TestAttachments_OfHundreds(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	s.exec(`do $$ begin for n in 1 .. 230 loop
		execute format('create table t%s (id integer primary key, dispatch date)', n);
		perform bellhop.attach(format('t%s', n)::regclass, type => 'mail', pool => case n when 229 then 0 else 1 end);
	end loop; end $$`)
	page := s.get(http.StatusOK, "/attachments")
	tables := rowsOf(page, `<tr data-href="/jobs?key=`)
	if len(tables) != 200 || !strings.Contains(tables[0], "<b>t229</b>") || !strings.Contains(page, "30 more tables are attached.") {
		t.Errorf("%d are listed, and this is the first:\n%.500s", len(tables), tables)
	}
	if len(page) > 300_000 {
		t.Errorf("%d bytes", len(page))
	}
}

// An open page shows a table that is attached elsewhere, without a reload.
func TestAttachments_AreCurrent(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	s.exec(`create table image (id integer primary key, dispatch date)`)
	first, seen := make(chan struct{}, 1), make(chan error, 1)
	go func() { seen <- s.watch("/attachments", first, "<b>image</b>") }()
	select {
	case <-first:
	case err := <-seen:
		t.Fatalf("before a table was attached the stream ended: %v", err)
	}
	s.exec(`select bellhop.attach('image', type => 'mail', pool => 2)`)
	if err := <-seen; err != nil {
		t.Error(err)
	}
}

// How long the rows that are left will take stands beside the rate, where both are known.
func TestAttachedTable_Rest(t *testing.T) {
	t.Parallel()
	at := func(rate float64, waiting, running int) attachedTable {
		return attachedTable{AttachmentRow: view.AttachmentRow{
			State: "ok", Pool: 4, Rate: &rate, Waiting: &waiting, Running: running,
		}}
	}
	more, stopped, unknown := at(2, 10_000, 4), at(2, 100, 0), at(2, 100, 0)
	yes := true
	more.More, stopped.Pool, unknown.Rate = &yes, 0, nil
	for _, x := range []struct {
		attachedTable
		want string
	}{
		{at(2, 236, 4), "done in about 2 min 00 s"}, {at(0.5, 0, 1), "done in about 2 s"},
		{at(2, 0, 0), ""}, {at(0, 10, 0), ""}, {more, ""}, {stopped, ""}, {unknown, ""},
	} {
		if got := x.Rest(); got != x.want {
			t.Errorf("%q, want %q", got, x.want)
		}
	}
}

// A bar has what is done, what failed and what is left; one failure of many is seen.
func TestAttachedTable_Bar(t *testing.T) {
	t.Parallel()
	waits := 500
	for _, c := range []struct {
		row  view.AttachmentRow
		want attachedBar
	}{
		{view.AttachmentRow{Done: 1500, Failed: 500, Waiting: &waits}, attachedBar{600, 200, "1,500 done, 500 failed, 500 left"}},
		{view.AttachmentRow{Done: 99_999, Failed: 1}, attachedBar{1000, 4, "99,999 done, 1 failed, 0 left"}},
	} {
		if got := (attachedTable{AttachmentRow: c.row}).Bar(); *got != c.want {
			t.Errorf("it is %+v, not %+v", *got, c.want)
		}
	}
	if (attachedTable{}).Bar() != nil {
		t.Error("a table without rows has a bar")
	}
}
