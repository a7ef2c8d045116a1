package api_test

import (
	"strings"
	"testing"

	"bellhop/sql/view"
)

// The API lists what is attached as `bellhop attachments -o json` does. A reader sees all of it but the command.
func TestAttachments_AreListed(t *testing.T) {
	t.Parallel()
	s := open(t)
	if got := strings.TrimSpace(s.must(200, "reader", "GET", "/attachments", "")); got != "[]" {
		t.Errorf("before the first one there is %s", got)
	}
	s.exec(`create table image (id integer primary key, dispatch timestamptz)`)
	s.exec(`create table letter (id integer primary key, sent date)`)
	s.exec(`select bellhop.attach('image', cmd => '{/bin/true,a  b}', pool => 4)`)
	s.exec(`select bellhop.attach('letter', type => 'mail', pool => 2, dispatch => 'sent')`)
	s.exec(`update bellhop.attachment set waiting = 10001, done = 7, failed = 2, state = 'broken', trouble = 'no right' where name = 'image'`)
	for _, role := range []string{"", "reader", "operator"} {
		var list []view.AttachmentRow
		text := s.must(200, role, "GET", "/attachments", "")
		if err := unmarshal(text, &list); err != nil || len(list) != 2 {
			t.Fatalf("%q gets %s, %v", role, text, err)
		}
		image, letter := list[0], list[1]
		if image.Table != "public.image" || image.Pool != 4 || image.WaitingText() != "10,000+" ||
			image.Done != 7 || image.Failed != 2 ||
			image.State != "broken" || image.Trouble == nil || *image.Trouble != "no right" ||
			image.Next == nil || *image.Next != "bellhop attach public.image" || letter.Next != nil {
			t.Errorf("%q: %s", role, text)
		}
		if letter.Runs() != "mail" || letter.Dispatch != "sent" || letter.Trouble != nil || letter.WaitingText() != "-" {
			t.Errorf("%q: %s", role, text)
		}
		want := "(a command)"
		if role == "operator" {
			want = "/bin/true 'a  b'"
		}
		if got := image.Runs(); got != want {
			t.Errorf("%q is told of %s, want %s", role, got, want)
		}
	}
	s.must(403, "submitter", "GET", "/attachments", "")
}
