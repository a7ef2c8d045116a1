// Package serve is `bellhop serve`: an instance from its configuration to its end.
//
// wire.go sees a port of the tree and what implements it, as nothing else does but
// client/worker/wire.go, which wires handlers inside an app. The package decides
// nothing about jobs.
package serve

import (
	"context"
	"errors"
	"log/slog"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/config"
)

func Command(a *cli.App) *cobra.Command {
	s := Config{Config: a.LoadConfig}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run one instance of the scheduler",
		Long: `Runs one instance until a signal stops it. Several instances may share one database, on
this machine or on others; they take over from each other.

Without a database URL it starts its own PostgreSQL, kept under --data-dir.

SIGINT finishes running jobs and starts none (a second SIGINT: as SIGTERM).
SIGTERM stops claiming, gives running jobs instance.grace, kills the children, gives
their jobs back and exits.
SIGHUP reloads the configuration, as bellhop reload does, and prints the summary.
SIGUSR1 prints running, waiting and dead work, and a line for each child; SIGUSR2
prints every open query (MSQ job). A crash prints both.

-R first gives back the jobs of dead instances; live instances are safe.

When another program replaces this one's file, running jobs are finished, no job is
started, and the new program goes on in the same process.

-I takes jobs from stdin, without a queue or a database, to try agents: a line
"TYPE ARGS" is a job, with "!" in front an urgent one; "wait TYPE" waits for the
jobs of a type. "var NAME=VALUE" gives the following jobs a variable, --var all jobs.
It ends when all jobs have ended; exit code 1 if one failed.`,
		Example: `  bellhop serve -c bellhop.yaml
  printf 'license /srv/a.c\n!license /srv/b.c\n' | bellhop serve -I
  DATABASE_URL=postgres://app@db/app bellhop serve`,
		Args: a.NoArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error { return Run(cmd.Context(), a, s) },
	}
	cmd.Flags().StringVar(&s.listen, "listen", "", "`address` of pages, API, /healthz, /readyz and /metrics (default 127.0.0.1:8470)")
	cmd.Flags().StringVar(&s.tokenFile, "token-file", "", "`file` (mode 0600) with the token that requests need, except for /healthz and /readyz; or BELLHOP_TOKEN")
	cmd.Flags().BoolVarP(&s.here, "here", "H", false, "replace every host of the configuration by this machine")
	cmd.Flags().BoolVarP(&s.Recover, "recover", "R", false, "first give back the jobs of dead instances")
	cmd.Flags().BoolVarP(&s.stdin, "stdin", "I", false, "take jobs from stdin: no queue, no database")
	cmd.Flags().StringToStringVar(&s.vars, "var", nil, "with -I: a variable of the jobs, `NAME=VALUE`; repeatable")
	cmd.Flags().BoolVarP(&s.verbose, "verbose", "v", false, "log at debug level")
	return cmd
}

// Config is how one instance is to be run.
type Config struct {
	listen, tokenFile             string
	here, verbose, Recover, stdin bool
	vars                          map[string]string // of the jobs from stdin
	Config                        func() (config.Config, error)
	Listen                        string            // its address, where no flag names one
	Quiet                         bool              // warnings only, for a person: the terminal shows something else
	Brisk                         bool              // SIGINT ends it as SIGTERM does: its jobs are worth no wait
	Opened                        func(addr string) // it answers there; nil: not told
	// runs until ctx ends; nil: nothing
	Beside func(ctx context.Context, url string, log *slog.Logger)
}

// Run runs an instance to its end, and the program that has replaced this one after it.
func Run(ctx context.Context, a *cli.App, s Config) error {
	program := cli.OwnProgram()
	err := serveOnce(ctx, a, s, program)
	if errors.Is(err, errRenew) {
		return renewed(program)
	}
	return err
}
