package main

import (
	"testing"

	"bellhop/cmd/bellhop/internal/cli"
)

// A table that was dropped leaves its attachment behind, under whose name another table cannot be attached: the error
// says what to type.
func TestAttach_UnderTheNameOfADroppedTable(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	create := "create table public.image (id bigint primary key, dispatch timestamptz)"
	s.sql(create)
	s.ok("attach", "image", "--type", "a", "--pool", "1")
	s.sql("drop table public.image")
	s.sql(create)
	s.fails(cli.ExitState, "bellhop detach image", "attach", "image", "--type", "a", "--pool", "1")
	s.ok("detach", "image")
	s.ok("attach", "image", "--type", "a", "--pool", "1")
}
