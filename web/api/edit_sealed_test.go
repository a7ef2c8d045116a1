package api_test

import (
	"strings"
	"testing"
)

// The API has no keys: a sealed job gets an envelope, or what the job has in plain.
func TestPatch_PutsNoPlainTextIntoASealedJob(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.exec(`insert into bellhop.jobqueue (type, args, vars) values ('mail', 'bellhop:sealed:1:k1:AAAA', '{"B": "b"}')`)
	for body, want := range map[string]string{
		`{"args": "xyzzy"}`:        "its new args would be plain text",
		`{"vars": {"A": "xyzzy"}}`: "its new var A would be plain text",
	} {
		said := s.must(422, "operator", "PATCH", "/jobs/1", body)
		if !strings.Contains(said, want) || !strings.Contains(said, "bellhop key seal mail") ||
			strings.Contains(said, "xyzzy") {
			t.Errorf("%s: %s", body, said)
		}
	}
	s.must(200, "operator", "PATCH", "/jobs/1", `{"args": "bellhop:sealed:1:k1:BBBB", "vars": {"B": "c"}}`)
}
