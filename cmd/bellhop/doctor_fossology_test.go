package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"bellhop/config"
	"bellhop/sql/store"
)

// What FOSSology's front end needs besides the queue is looked at where its
// names are in place.
func TestDoctor_WhatTheFrontEndNeeds(t *testing.T) {
	t.Parallel()
	s := setup(t)
	look := func(c config.Config) (says []string) {
		d := &doctor{app: &app{getenv: func(string) string { return "" }}, config: c}
		if err := d.checkFOSSology(t.Context(), &session{store.NewLook(s.conn), s.conn}); err != nil {
			t.Fatal(err)
		}
		for _, f := range d.findings {
			says = append(says, string(f.Verdict)+": "+f.Says+" "+f.Mend)
		}
		return says
	}
	if got := look(config.Default()); len(got) != 0 {
		t.Errorf("without the names it says %q", got)
	}
	s.ok("migrate", "--compat", "fossology")
	front := fmt.Sprintf("fossy_%d", os.Getpid())
	s.sql(`create role ` + front + ` login in role bellhop_operator`)
	defer func() { s.sql(`drop owned by ` + front); s.sql(`drop role ` + front) }()
	s.sql(`create table public.job (job_pk int primary key, job_user_fk int, job_group_fk int, job_priority int)`)
	has(t, strings.Join(look(config.Default()), "\n"), "mend: "+front+" may not read public.job", `grant select on public.job to "`+front+`"`,
		"note: the front end's names are in place, and its port is not answered", "127.0.0.1:24693")
	s.sql(`grant select on public.job to ` + front)
	c := config.Default()
	c.FrontEnd.Listen = "127.0.0.1:24693"
	has(t, strings.Join(look(c), "\n"), "ok: the front end's names are in place; its port is 127.0.0.1:24693")
}
