package api_test

import (
	"strings"
	"testing"
)

// Changes are for readers. They name the caller that the API has identified, and show none of a job's arguments.
func TestChanges_ForReaders(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.exec("insert into bellhop.jobqueue (type, args) select 'mail', 'a secret' from generate_series(1, 2)")
	s.must(200, "operator", "POST", "/jobs/1/hold", "")
	s.must(200, "operator", "PATCH", "/jobs/2", `{"args": "another secret"}`)
	s.must(200, "operator", "POST", "/types/mail/pause", "")
	s.must(403, "reader", "POST", "/jobs/1/release", "")
	const hold = `"by":"o","via":"token","role":"bellhop_operator","verb":"hold","thing":"job","name":"1",` +
		`"result":"ready → held; held"`
	for path, has := range map[string][]string{
		"/changes": {
			hold, `"verb":"edit","thing":"job","name":"2","result":"args"`, `"verb":"pause","thing":"type","name":"mail"`,
		},
		"/changes?of=job%201":    {hold},
		"/changes?by=o":          {hold},
		"/changes?limit=1":       {`"verb":"pause"`},
		"/changes?before=2&by=o": {hold},
	} {
		text := s.must(200, "reader", "GET", path, "")
		for _, want := range has {
			if !strings.Contains(text, want) {
				t.Errorf("%s says nothing of %s: %s", path, want, text)
			}
		}
		if strings.Contains(text, "secret") || strings.Contains(text, "release") {
			t.Errorf("%s: %s", path, text)
		}
	}
	for path, want := range map[string]string{"/changes?of=job%202&limit=1": "edit", "/changes?by=nemo": "[]"} {
		if text := s.must(200, "reader", "GET", path, ""); !strings.Contains(text, want) || strings.Contains(text, "hold") {
			t.Errorf("%s: %s", path, text)
		}
	}
	s.must(422, "reader", "GET", "/changes?of=job", "")
	s.must(422, "reader", "GET", "/changes?limit=201", "")
	s.must(403, "submitter", "GET", "/changes", "")
}
