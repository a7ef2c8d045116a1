// Package rjm has RJM's commands: faces of ours, under its names and with its configuration.
package rjm

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/change"
	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/cmd/bellhop/internal/look"
	"bellhop/sql/view"
)

// RJM's names. Each is a face: what is done is done by what the other commands do.
var rjmNames = []string{"rjmsetup", "rjmgo", "rjmls", "rjmexit", "rjmout", "rjmproc", "rjmd", "rjmflush"}

func Is(name string) bool { return slices.Contains(rjmNames, name) }

// rjmConf is what RJM's own configuration says.
type rjmConf struct {
	tasks    string // the tasks file; it need not be there
	workDir  string // of jobs, and what rjm_delete is relative to
	host     string // what this host is called
	tmpDir   string // for locks
	database string // empty: found as for every command
}

// confFiles are the places of conf.sh, the first that is there counts.
func confFiles(a *cli.App) []string {
	files := []string{filepath.Join(a.Getenv("HOME"), ".rjm", "conf.sh")}
	if program := cli.OwnProgram(); program != "" {
		files = append(files, filepath.Join(filepath.Dir(filepath.Dir(program)), "etc", "rjm", "conf.sh"))
	}
	return append(files, "/usr/local/etc/rjm/conf.sh", "/usr/etc/rjm/conf.sh", "/etc/rjm/conf.sh")
}

// confScript evaluates conf.sh as bash, which it is, and prints what it says.
const confScript = `. "$1" >&2 </dev/null || exit
for name in rjm_taskconf rjm_wd rjm_hostid rjm_tmpdir rjm_database; do printf '%s\0' "${!name}"; done`

// rjm reads RJM's configuration, and lets it name the database where nothing
// nearer does.
func rjm(ctx context.Context, a *cli.App) (rjmConf, error) {
	home := filepath.Join(a.Getenv("HOME"), ".rjm")
	conf := rjmConf{tasks: filepath.Join(home, "tasks.sh"), workDir: "/tmp", tmpDir: os.TempDir()}
	host, err := os.Hostname()
	if err != nil {
		return conf, err
	}
	conf.host, _, _ = strings.Cut(host, ".")
	for _, file := range confFiles(a) {
		if _, err := os.Stat(file); err != nil {
			continue
		}
		cmd := exec.CommandContext(ctx, "bash", "--norc", "--noprofile", "-c", confScript, "conf", file)
		cmd.Stderr = a.Stderr
		said, err := cmd.Output()
		if err != nil {
			return conf, cli.Usage("configuration", fmt.Sprintf("%s: %s", file, err), "bash "+file)
		}
		conf.tasks = filepath.Join(filepath.Dir(file), "tasks.sh")
		to := []*string{&conf.tasks, &conf.workDir, &conf.host, &conf.tmpDir, &conf.database}
		for i, value := range strings.Split(strings.TrimSuffix(string(said), "\x00"), "\x00") {
			if value != "" && i < len(to) {
				*to[i] = value
			}
		}
		break
	}
	conf.host = notInNames.ReplaceAllString(conf.host, "-")
	if !filepath.IsAbs(conf.workDir) {
		return conf, cli.Usage("configuration", fmt.Sprintf("rjm_wd %q is not an absolute path", conf.workDir), "rjm_wd=/tmp")
	}
	variables := []string{"DATABASE_URL", "PGSERVICE", "PGHOST", "PGDATABASE", "PGPORT"}
	named := a.DatabaseURL != "" || a.ContextNamed() ||
		slices.ContainsFunc(variables, func(name string) bool { return a.Getenv(name) != "" })
	if conf.database != "" && !named {
		a.DatabaseURL = conf.database
	}
	return conf, nil
}

// notInNames is what names of hosts may not hold; the colon stands between a
// host and its workers.
var notInNames = regexp.MustCompile(`[^A-Za-z0-9_.@-]`)

// withRJM is WithDatabase on the database of RJM's configuration.
func withRJM(a *cli.App, f func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if _, err := rjm(cmd.Context(), a); err != nil {
			return err
		}
		return f(cmd, args)
	}
}

// face makes a command of ours one of RJM's: another name, other words, and
// some of its flags under other names.
func face(a *cli.App, c *cobra.Command, use, short, long, example string, flags map[string]string) *cobra.Command {
	f := &cobra.Command{Use: use, Short: short, Long: long, Example: example, Args: c.Args, RunE: withRJM(a, c.RunE)}
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		flag := *c.Flags().Lookup(name)
		flag.Shorthand = flags[name]
		f.Flags().AddFlag(&flag)
	}
	return f
}

func GoCommand(a *cli.App) *cobra.Command {
	c := change.ReleaseCommand(a)
	c.RunE = change.Change(a, change.Order{Do: change.Release})
	return face(a, c, "rjmgo ID...", "Release jobs, and all jobs that wait for them",
		"Release jobs, and all jobs that wait for them, directly or through others: bellhop\nrelease. Released jobs do not change.",
		"  bellhop rjmgo billing.simpsons-8761230871234", nil)
}

func ExitCommand(a *cli.App) *cobra.Command {
	return face(a, look.ExitCodeCommand(a), "rjmexit [-q] [-w] ID", "Print the exit code of a job, or exit with it",
		"Print the exit code of a job: bellhop exit-code. If the job has not ended, nothing is\nprinted, and the exit code is 125.",
		"  bellhop rjmexit -q -w billing.simpsons-8761230871234; echo $?", map[string]string{"quiet": "q", "wait": "w"})
}

func OutCommand(a *cli.App) *cobra.Command {
	return face(a, look.LogsCommand(a), "rjmout [-e] [-t] ID", "Print the standard output of a job",
		"Print the standard output of a job: bellhop logs. With -t it waits for the start of the\njob, and goes on to its last byte.",
		"  bellhop rjmout -t billing.simpsons-8761230871234", map[string]string{"errors": "e", "follow": "t", "attempt": ""})
}

func FlushCommand(a *cli.App) *cobra.Command {
	var older string
	c := &cobra.Command{
		Use:   "rjmflush",
		Short: "Delete the records of old RJM jobs",
		Long: `Delete the records of jobs that rjmsetup made and that have been old for days:
bellhop prune, for RJM's jobs only. Failed jobs stay, and so do jobs whose files are
not deleted yet.`,
		Example: "  bellhop rjmflush --older-than 3d",
		Args:    a.NoArgs(),
		RunE: withRJM(a, func(cmd *cobra.Command, args []string) error {
			return change.PruneRJM(a, cmd, args, older)
		}),
	}
	c.Flags().StringVar(&older, "older-than", "3d", "jobs that ended this `time` ago or earlier, such as 3d or 36h")
	return c
}

// The states of RJM: those that rjmls lists by itself, and all.
var (
	rjmUnfinished = []string{"wait", "ready", "run", "failed"}
	States        = append(slices.Clone(rjmUnfinished), "done", "dusting", "old")
)

func LsCommand(a *cli.App) *cobra.Command {
	var states, types []string
	c := &cobra.Command{
		Use:   "rjmls [-s STATE]... [-t TYPE]...",
		Short: "List RJM's jobs",
		Long: `List jobs that rjmsetup made, one on a line: state, id, priority, host, exit code. It
lists waiting, ready, running and failed jobs; with -s those in other states too:
done, dusting, old.`,
		Example: "  bellhop rjmls\n  bellhop rjmls -s old -t billing -t shipping",
		Args:    a.NoArgs(),
		RunE: withRJM(a, func(cmd *cobra.Command, args []string) error {
			for _, s := range states {
				if !slices.Contains(States, s) {
					return cli.Usage("rjmls", fmt.Sprintf("there is no state %q; states are %s", s, strings.Join(States, ", ")), "bellhop rjmls -s old")
				}
			}
			return a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, _ []string) error {
				jobs, err := s.RJM(ctx, append(states, rjmUnfinished...), types)
				if err != nil {
					return err
				}
				return rjmls(a, jobs)
			})(cmd, args)
		}),
	}
	c.Flags().StringSliceVarP(&states, "state", "s", nil, "also jobs in this `state`; repeatable")
	c.Flags().StringSliceVarP(&types, "type", "t", nil, "only jobs of this `type`; repeatable")
	return c
}

func rjmls(a *cli.App, jobs []view.RJMRow) error {
	if a.JSON() {
		return a.PrintJSON(jobs)
	}
	var b bytes.Buffer
	for _, j := range jobs {
		host, rc, rest := "-", "-", ""
		if j.Host != nil {
			host = *j.Host
		}
		if j.RC != nil {
			rc = fmt.Sprint(*j.RC)
		}
		if j.Unmet != nil {
			rest = fmt.Sprintf(" blocked by %d", *j.Unmet)
		} else if j.Trouble != nil {
			rest = " " + cli.Cut(*j.Trouble, 400) // JSON has all of it
		}
		b.WriteString(cli.Clean(fmt.Sprintf("%s %s %s %s %s%s", j.State, j.ID, j.Prio, host, rc, rest)) + "\n")
	}
	return a.Printf("%s", b.String())
}
