package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// However many types wait, an answer is bounded, and page by page all of them are shown once.
func TestTypes_ComeInPages(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.exec(`insert into bellhop.jobqueue (type) select 'type ' || n || repeat(' long', 20) from generate_series(1, 2300) n`)
	for _, path := range []string{"/types", "/stats"} {
		seen, after, pages := map[string]bool{}, "", 0
		for {
			var list []struct{ Type string }
			text := s.must(200, "reader", "GET", path+"?after="+strings.ReplaceAll(after, " ", "+"), "")
			if err := unmarshal(text, &list); err != nil {
				t.Fatal(err)
			}
			if len(text) > 1<<20 || len(list) > 1000 {
				t.Fatalf("%s: %d types in %d bytes", path, len(list), len(text))
			}
			if len(list) == 0 {
				break
			}
			for _, row := range list {
				if seen[row.Type] {
					t.Fatalf("%s: %s twice", path, row.Type)
				}
				seen[row.Type], after = true, row.Type
			}
			pages++
		}
		if len(seen) != 2300 || pages != 3 {
			t.Errorf("%s: %d types in %d pages", path, len(seen), pages)
		}
		s.must(422, "reader", "GET", path+"?limit=1001", "")
	}
}

// A look by HEAD takes no place of those who wait, and one caller leaves room for others.
func TestStreams_LeaveRoomForOthers(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.must(201, "operator", "POST", "/jobs", `{"type": "sh", "held": true}`)
	for _, path := range []string{"/events", "/jobs/1/wait?timeout=1m", "/jobs/1/logs?follow=true"} {
		if status, _, header := s.answer("operator", "HEAD", path, ""); status != http.StatusMethodNotAllowed ||
			header.Get("Allow") != "GET" {
			t.Errorf("HEAD %s: %d", path, status)
		}
	}
	for n := range 50 {
		if st := s.stream("reader", "/events"); st.Header.Get("X-Accel-Buffering") != "no" {
			t.Fatalf("stream %d: a proxy would gather it: %v", n, st.Header)
		}
	}
	status, text, header := s.answer("reader", "GET", "/events", "")
	if status != http.StatusTooManyRequests || header.Get("Retry-After") == "" || !strings.Contains(text, "too_many_of_yours") {
		t.Errorf("the fifty-first of one caller: %d %s", status, text)
	}
	fmt.Fprint(t.Output(), s.stream("operator", "/events").Status) // ends the test where it is refused
}

// An assigned job does not run yet, and is counted apart.
func TestTypes_CountAssignedJobsApart(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.exec(`insert into bellhop.jobqueue (type) values ('a'), ('a')`)
	s.exec(`update bellhop.jobqueue set state = 'assigned', instance = 1, host = 'local', fence = 1 where id = (select min(id) from bellhop.jobqueue)`)
	var list []struct{ Ready, Assigned, Running int }
	if err := unmarshal(s.must(200, "reader", "GET", "/types", ""), &list); err != nil || fmt.Sprint(list) != "[{1 1 0}]" {
		t.Errorf("%v %v", list, err)
	}
}
