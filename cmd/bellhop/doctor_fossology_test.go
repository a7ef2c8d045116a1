package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// What FOSSology's front end needs besides the queue is looked at where its
// names are in place.
func TestDoctor_WhatTheFrontEndNeeds(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	look := func(config string) string {
		var says []string
		for _, d := range s.diagnosed("fossology", config) {
			says = append(says, d.Verdict+": "+d.Says+" "+d.Mend)
		}
		return strings.Join(says, "\n")
	}
	if got := look(""); got != "" {
		t.Errorf("without the names it says %q", got)
	}
	s.ok("migrate", "--compat", "fossology")
	front := fmt.Sprintf("fossy_%d", os.Getpid())
	s.sql(`create role ` + front + ` login in role bellhop_operator`)
	defer func() { s.sql(`drop owned by ` + front); s.sql(`drop role ` + front) }()
	s.sql(`create table public.job (job_pk int primary key, job_user_fk int, job_group_fk int, job_priority int)`)
	has(t, look(""), "mend: "+front+" may not read public.job", `grant select on public.job to "`+front+`"`,
		"note: the front end's names are in place, and its port is not answered", "127.0.0.1:24693")
	s.sql(`grant select on public.job to ` + front)
	has(t, look("fossology: {listen: \"127.0.0.1:24693\"}\n"), "ok: the front end's names are in place; its port is 127.0.0.1:24693")
}
