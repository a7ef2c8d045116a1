package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
)

// onDatabase is a command that wants a database: what it is called with, and
// what its exit code is where that is not there, or the login may do nothing.
type onDatabase struct {
	args    string // FILE: a definition of a workflow
	missing int    // where what it is about is not there; 0: it is about nothing of that kind, or that is no failure
	denied  int    // to a login without any right; 0: 6
}

// Every command that opens a database stands here, and every other one in alone.
var withDatabase = map[string]onDatabase{
	"agents": {}, "attachments": {}, "changes": {}, "doctor": {denied: 1}, "history": {}, "hosts": {}, "instances": {}, "kick": {}, "emit": {args: "paid.42"}, "locks": {},
	"ls": {}, "pause": {}, "resume": {}, "share ls": {}, "share set": {args: "a k 2"}, "stats": {}, "prune": {}, "manager status": {}, "manager stop": {},
	"manager start": {}, "filter list": {}, "workflow ls": {}, "workflow projects": {}, "workflow runs": {}, "rjmls": {}, "rjmflush": {},
	"workflow notify ls": {}, "workflow notify messages": {}, "workflow export": {},
	"bench": {}, "top": {args: "--once"}, "submit": {args: "a x"}, "batch begin": {args: "a x"}, "reload": {},
	"attach":                 {args: "no_such_table --type a --pool 1", missing: cli.ExitNotFound},
	"detach":                 {args: "no_such_table", missing: cli.ExitNotFound},
	"batch count":            {args: "999", missing: cli.ExitNotFound},
	"cancel":                 {args: "999", missing: cli.ExitNotFound},
	"edit":                   {args: "999 --priority 1", missing: cli.ExitNotFound},
	"explain":                {args: "999", missing: cli.ExitNotFound},
	"exit-code":              {args: "999", missing: cli.ExitNotFound},
	"graph":                  {args: "999", missing: cli.ExitNotFound},
	"logs":                   {args: "999", missing: cli.ExitNotFound},
	"release":                {args: "999", missing: cli.ExitNotFound},
	"retry":                  {args: "999", missing: cli.ExitNotFound},
	"show":                   {args: "999", missing: cli.ExitNotFound},
	"trace":                  {args: "999", missing: cli.ExitNotFound},
	"wait":                   {args: "999", missing: cli.ExitNotFound},
	"operation ls":           {},
	"operation plan":         {args: "hold --all"},
	"operation show":         {args: "999", missing: cli.ExitNotFound},
	"operation start":        {args: "999", missing: cli.ExitNotFound},
	"operation stop":         {args: "999", missing: cli.ExitNotFound},
	"operation undo":         {args: "999", missing: cli.ExitNotFound},
	"rjmexit":                {args: "999", missing: cli.ExitNotFound},
	"rjmgo":                  {args: "999", missing: cli.ExitNotFound},
	"rjmout":                 {args: "999", missing: cli.ExitNotFound},
	"filter add":             {args: "--action REJECT"},
	"filter delete":          {args: "f1", missing: cli.ExitNotFound},
	"filter info":            {args: "f1", missing: cli.ExitNotFound},
	"filter replace":         {args: "f1 --action REJECT"}, // one that is not there is made
	"workflow apply":         {args: "FILE"},
	"workflow import":        {args: "FILE"},
	"workflow activate":      {args: "none", missing: cli.ExitNotFound},
	"workflow deactivate":    {args: "none", missing: cli.ExitNotFound},
	"workflow delete":        {args: "none", missing: cli.ExitNotFound},
	"workflow diff":          {args: "none", missing: cli.ExitNotFound},
	"workflow history":       {args: "none", missing: cli.ExitNotFound},
	"workflow notify add":    {args: "--mail a@example.org"},
	"workflow notify again":  {args: "999", missing: cli.ExitNotFound},
	"workflow notify delete": {args: "999", missing: cli.ExitNotFound},
	"workflow notify edit":   {args: "999 --mail a@example.org", missing: cli.ExitNotFound},
	"workflow notify test":   {args: "999", missing: cli.ExitNotFound},
	"workflow retry":         {args: "999", missing: cli.ExitNotFound},
	"workflow revert":        {args: "none 1", missing: cli.ExitNotFound},
	"workflow run":           {args: "none", missing: cli.ExitNotFound},
	"workflow show":          {args: "none", missing: cli.ExitNotFound},
	"workflow events":        {args: "none", missing: cli.ExitNotFound},
	"workflow explain":       {args: "none", missing: cli.ExitNotFound},
}

// alone are the commands that open none, or have tests of their own that are longer than a line.
var alone = strings.Fields(`agent-check agent-new agent-try bury completion-bash completion-fish completion-powershell completion-zsh
	config-check context-add context-ls context-rm context-show context-use cron-explain demo demo-agent dev help
	install-launchd install-roles install-systemd key-ls key-new key-open key-seal man mcp migrate ready rjmd rjmproc rjmsetup serve
	simulate torture skill torture-agent ui uninstall verify version weigh`)

// leaves are the commands, as they are typed.
func leaves() (list []string) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Runnable() && !c.HasSubCommands() {
			list = append(list, strings.TrimPrefix(c.CommandPath(), "bellhop "))
		}
		for _, s := range c.Commands() {
			walk(s)
		}
	}
	walk(newRoot(&cli.App{Getenv: os.Getenv}))
	return list
}

// TestExitCodes_OfEveryCommand: each says the same of the same trouble, so that a
// script can act on it: docs/exit_codes.md.
func TestExitCodes_OfEveryCommand(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	login := fmt.Sprintf("nobody_%d", os.Getpid())
	s.sql("create role " + login + " login")
	t.Cleanup(func() { _, _ = s.conn.Exec(context.Background(), "drop role "+login) })
	empty := newHarness(t)
	empty.sql("drop schema bellhop cascade")
	file := filepath.Join(t.TempDir(), "nightly.yaml")
	text := "workflow: nightly\nsteps: [{name: a, type: sh}]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range leaves() {
		c, is := withDatabase[name]
		if !is {
			if !slices.Contains(alone, strings.ReplaceAll(name, " ", "-")) {
				t.Errorf("bellhop %s is in neither table: what are its exit codes?", name)
			}
			continue
		}
		line := append(strings.Fields(name), strings.Fields(strings.ReplaceAll(c.args, "FILE", file))...)
		on := func(url string) result { return command(append(slices.Clone(line), "--database-url", url)...) }
		ends := func(trouble string, r result, want int) {
			t.Helper()
			if r.code != want {
				t.Errorf("%s: bellhop %q ends with %d, want %d\n%s%s", trouble, line, r.code, want, r.stdout, r.stderr)
			}
		}
		ends("an unknown flag", command(append(slices.Clone(line), "--frob")...), cli.ExitUsage)
		ends("a server that is not there", on("postgres://u@127.0.0.1:1/d"), cli.ExitNoDatabase)
		if name != "doctor" { // which says so, and that is its work
			ends("no schema", on(empty.url), cli.ExitSchema)
		}
		denied := cli.ExitDenied
		if c.denied != 0 {
			denied = c.denied
		}
		ends("a login without rights", on(s.url+"&options=-c%20role%3D"+login), denied)
		if c.missing != 0 {
			ends("what is not there", on(s.url), c.missing)
		}
	}
}
