package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bellhop/cmd/bellhop/internal/cli"
)

// foreign are words of the libraries that read values, and not of this program.
var foreign = regexp.MustCompile(`strconv|time:|parsing|invalid syntax|ParseInt|invalid argument|invalid duration|value out of range|flag needs`)

// Each flag of each command that takes no text says in our words what is wrong with its value, and what to type next.
func TestFlags_AWrongValueIsToldInOurWords(t *testing.T) {
	t.Parallel()
	wrong := map[string][]string{
		"duration": {"abc", "10", "1y", ""}, "priority": {"abc", "20", "-21", "a", ""},
		"int": {"abc", "1.5", "99999999999999999999", ""}, "bool": {"abc"},
		"float64": {"abc", ""}, "func": {"abc"}, "stringToString": {"abc"}, "stringToInt": {"abc", "a=b"}, "format": {"xml"},
	}
	wrong["int32"], wrong["int64"], wrong["uint64"] = wrong["int"], wrong["int"], append(slices.Clone(wrong["int"]), "-1")
	seen := map[string]int{}
	a := &cli.App{Getenv: func(string) string { return "" }}
	var walk func(c *cobra.Command, path []string)
	walk = func(c *cobra.Command, path []string) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			kind := f.Value.Type()
			values := wrong[kind]
			if values == nil && !slices.Contains([]string{"string", "stringArray", "stringSlice"}, kind) {
				t.Errorf("%s --%s: nothing is known of values of type %s", c.CommandPath(), f.Name, kind)
			}
			for _, value := range values {
				r := command(append(slices.Clone(path), "--"+f.Name+"="+value)...)
				if r.code != cli.ExitUsage || foreign.MatchString(r.stderr) || !strings.Contains(r.stderr, "--"+f.Name+` "`+value+`": `) ||
					!strings.Contains(r.stderr, "\n  bellhop") {
					t.Errorf("%s --%s=%s: exit code %d: %s", c.CommandPath(), f.Name, value, r.code, r.stderr)
				}
				seen[kind]++
			}
			if len(values) > 0 && kind != "bool" {
				r := command(append(slices.Clone(path), "--"+f.Name)...)
				if r.code != cli.ExitUsage || foreign.MatchString(r.stderr) ||
					!strings.Contains(r.stderr, "--"+f.Name+" needs a value") {
					t.Errorf("%s --%s: exit code %d: %s", c.CommandPath(), f.Name, r.code, r.stderr)
				}
			}
		})
		for _, under := range c.Commands() {
			if under.IsAvailableCommand() && under.Name() != "help" && under.Name() != "completion" {
				walk(under, append(slices.Clone(path), under.Name()))
			}
		}
	}
	walk(newRoot(a), nil)
	for _, kind := range []string{"duration", "priority", "int", "int64", "bool"} {
		if seen[kind] == 0 {
			t.Errorf("no flag of type %s was tried", kind)
		}
	}
}

// Text that stands for a time, a span or an id is told in our words too.
func TestFlags_AWrongTimeOrIDIsToldInOurWords(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	for _, line := range []string{
		"submit a --at abc", "submit a --at +abc", "submit a --at 99:99", "submit a --not-after 12", "edit 1 --at abc", "edit 1 --not-after abc",
		"ls --since abc", "ls --until 1y", "ls --limit -1", "prune --older-than abc", "prune --older-than 1y", "history --since 0s",
		"cron explain * --from abc", "workflow runs --since abc", "workflow show a --run abc", "workflow retry abc", "workflow diff a b c",
		"operation show abc", "operation start abc", "filter delete abc", "filter info abc",
		"workflow revert a b", "workflow skip abc", "logs 1 --attempt 0", "attach t --type a --pool -1", "top --interval 0s",
		"changes --since abc", "changes -n 0", "changes --of job",
		"submit a --timeout 0s", "submit a --per 0s", "submit a --max-attempts 0", "wait 1 --timeout -1s", "edit 1 --timeout -1s",
	} {
		r := s.run(strings.Fields(line)...)
		if r.code == 0 || r.code > 7 || foreign.MatchString(r.stderr) || !strings.Contains(r.stderr, "\n  ") {
			t.Errorf("bellhop %s: exit code %d: %s%s", line, r.code, r.stdout, r.stderr)
		}
	}
}

// Help is the same in every folder and for every account: the pages of a release are made from it.
func TestFlags_HelpNamesNoPathOfThisMachine(t *testing.T) {
	t.Parallel()
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	at, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			for _, path := range []string{home, own, at} {
				if strings.Contains(f.DefValue, path) || strings.Contains(f.Usage, path) {
					t.Errorf("%s --%s: its help names %s", c.CommandPath(), f.Name, path)
				}
			}
		})
		for _, under := range c.Commands() {
			walk(under)
		}
	}
	walk(newRoot(&cli.App{Getenv: os.Getenv}))
}
