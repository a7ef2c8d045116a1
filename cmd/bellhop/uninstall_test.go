package main

import (
	"context"
	"fmt"
	"os"
	"testing"

	"bellhop/cmd/bellhop/internal/cli"
)

// Bellhop goes from a database as a whole, with the triggers that it has put on other tables, and leaves their rows. It
// lists first what goes. While an instance is live, nothing goes.
func TestUninstall_RemovesWhatItListed(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	s.ok("migrate", "--compat", "fossology")
	s.sql(`create table public.image (id bigint primary key, path text, dispatch timestamptz);
		create view public.mine as select id, state from bellhop.job;
		insert into public.image (id, path) values (1, 'a.png')`)
	s.ok("attach", "image", "--type", "a", "--pool", "1")
	s.id("a", "x")
	has(t, s.ok("uninstall"), "jobs: 1, unfinished: 1", "bellhop_attached", "schema   fossology", "on image", "mine",
		"bellhop_operator", "bellhop uninstall --drop")
	s.ok("ls") // nothing was changed

	s.sql(`insert into bellhop.instance (name, hostname, machine, pid, process_start, version, lag)
		values ('here', 'h', 'm', 1, 'then', 'v', '10 s')`)
	s.fails(cli.ExitState, "instances are live: here", "uninstall", "--drop")
	s.sql("update bellhop.instance set heartbeat_at = now() - interval '1 min'") // it died, and no other has noticed
	// Databases of other tests need the roles.
	has(t, s.ok("uninstall", "--drop"), "removed", "bellhop_operator", "kept: another database")
	s.fails(cli.ExitSchema, "bellhop migrate", "ls")
	s.fails(cli.ExitSchema, "there is no bellhop in database", "uninstall", "--drop")
	s.sql("insert into public.image (id, path) values (2, 'b.png')") // no trigger is left
	// A schema of another's is left alone, whatever its name.
	s.sql("create schema fossology; create view fossology.report as select 1 as one")
	s.fails(cli.ExitSchema, "there is no bellhop in database", "uninstall", "--drop")
	s.sql("drop schema fossology cascade") // it was left
	s.ok("migrate")
	s.ok("ls")
}

// A login that does not own the schema removes nothing.
func TestUninstall_IsTheOwners(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	login := fmt.Sprintf("stranger_%d", os.Getpid())
	s.sql("create role " + login + " login; grant bellhop_operator to " + login)
	t.Cleanup(func() { _, _ = s.conn.Exec(context.Background(), "drop role "+login) })
	s.fails(cli.ExitDenied, "must be owner of schema", "uninstall", "--drop", "--database-url", s.url+"&user="+login)
	s.ok("ls")
}
