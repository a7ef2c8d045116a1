// Package attach has the commands that make any table a queue.
package attach

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/sql/view"
)

// attachFlags are what is said of a table besides its name.
type attachFlags struct {
	typ, cmd, shell    string
	pool               int
	workdir, logDir    string
	key                []string
	dispatch           string
	statusCol, exitCol string
	name               string
	index, dryRun      bool
}

func Command(a *cli.App) *cobra.Command {
	var f attachFlags
	c := &cobra.Command{
		Use:   "attach TABLE {--type TYPE | --cmd PROGRAM [ARG]… | --shell TEXT} --pool N",
		Short: "Run the rows of a table whose dispatch column is NULL",
		Long: `Run the rows of any table. A row whose dispatch column is NULL is to be run; the
column gets a value when an instance takes the row. Insert NULL, or set the column to
NULL again, for another run. If the row runs at that moment, it runs again afterwards.

--type sends each row to an agent, as a line name="value" …
--cmd runs a program without a shell. Its arguments are the words behind TABLE, and
the row's key as the last one. --shell runs a text in sh, with the key as $1. Both
have BELLHOP_KEY, BELLHOP_TABLE, BELLHOP_JOB and BELLHOP_ROW (JSON) in the
environment. Instances run them only with commands_from_database: true, which is the
default for the embedded database alone.

For an attached table, --pool changes how many rows run at once; 0: none.`,
		Example: `  bellhop attach images --cmd /usr/local/bin/thumbnail --pool 4
  bellhop attach images --pool 8
  bellhop attach app.mails --type mail --pool 2 --dispatch sent_at --status-col outcome
  bellhop attach images --shell 'convert "$1.jpg" "$1.png"' --pool 4 --dry-run`,
		Args: a.Args(func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0 || strings.TrimSpace(args[0]) == "":
				return errors.New("which table? Name it")
			case len(args) > 1 && f.cmd == "":
				return errors.New("words behind the table are arguments of --cmd, and --cmd is not given")
			}
			return nil
		}),
		RunE: a.WithDatabase(func(ctx context.Context, s *cli.Session, cmd *cobra.Command, args []string) error {
			table, err := f.attachment(cmd, args)
			if err != nil {
				return err
			}
			return attach(ctx, a, s, table, f.dryRun)
		}),
	}
	flags := c.Flags()
	flags.StringVar(&f.typ, "type", "", "send each row to the agent of this `type`")
	flags.StringVar(&f.cmd, "cmd", "", "run this `program` for each row, with the key as last argument")
	flags.StringVar(&f.shell, "shell", "", "run this `text` in sh for each row, with the key as $1")
	flags.IntVar(&f.pool, "pool", 0, "`number` of rows that run at once, over all instances; 0: none")
	flags.StringVar(&f.workdir, "workdir", "", "the `folder` in which the command runs (default: the instance's)")
	flags.StringVar(&f.logDir, "log-dir", "", "also keep the output of each run of the command under this `folder`")
	flags.StringSliceVar(&f.key, "key", nil, "the `columns` that identify a row (default: the primary key)")
	flags.StringVar(&f.dispatch, "dispatch", "dispatch", "the `column` that is NULL if a row is to be run")
	flags.StringVar(&f.statusCol, "status-col", "", "a text `column` for the outcome of the run")
	flags.StringVar(&f.exitCol, "exit-col", "", "an integer `column` for its exit code")
	flags.StringVar(&f.name, "name", "", "`name` of the attachment (default: that of the table)")
	flags.BoolVar(&f.index, "index", false, "also make an index on the waiting rows")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print the SQL, and do nothing")
	return c
}

// attachment is what was typed, as it is asked of the database.
func (f attachFlags) attachment(cmd *cobra.Command, args []string) (view.Attachment, error) {
	t := view.Attachment{Table: args[0], Key: f.key, Dispatch: f.dispatch, Index: f.index}
	given := cmd.Flags().Changed
	ways := 0
	if given("type") {
		t.Type = &f.typ
		ways++
	}
	if given("cmd") {
		t.Cmd = append([]string{f.cmd}, args[1:]...)
		ways++
	}
	if given("shell") {
		t.Cmd = []string{"/bin/sh", "-c", f.shell, "bellhop"}
		ways++
	}
	if ways > 1 {
		return t, cli.Usage("attach", "it takes only one of --type, --cmd and --shell", "one of --type, --cmd and --shell")
	}
	if given("pool") {
		if f.pool < 0 || f.pool > 10_000 {
			return t, cli.Usage("attach", fmt.Sprintf("pool %d is out of range: 0 (none) to 10000", f.pool), "--pool 4")
		}
		t.Pool = &f.pool
	}
	for name, to := range map[string]**string{"status-col": &t.StatusCol, "exit-col": &t.ExitCol, "name": &t.Name} {
		if given(name) {
			text := cmd.Flag(name).Value.String()
			*to = &text
		}
	}
	for name, to := range map[string]**string{"workdir": &t.WorkDir, "log-dir": &t.LogDir} {
		if given(name) { // a relative path is one of this machine
			path, err := filepath.Abs(cmd.Flag(name).Value.String())
			if err != nil {
				return t, cli.Usage("attach", "--"+name+": "+err.Error(), "--"+name+" /an/absolute/path")
			}
			*to = &path
		}
	}
	return t, nil
}

var errDry = errors.New("nothing is to be done")

// attach attaches a table; dry: it is carried out, printed and rolled back, so
// that whatever would go wrong does.
func attach(ctx context.Context, a *cli.App, s *cli.Session, t view.Attachment, dry bool) error {
	var done view.Attached
	err := pgx.BeginFunc(ctx, s.Conn, func(tx pgx.Tx) (err error) {
		done, err = view.NewLook(tx).Attach(ctx, t)
		var refused *pgconn.PgError
		if errors.As(err, &refused) && (refused.Code == "42P01" || refused.Code == "3F000" || refused.Code == "42602") &&
			refused.Hint == "" {
			return cli.Failed(cli.ExitNotFound, "not found",
				`psql "$DATABASE_URL" -c '\d'   lists the tables; one with capitals or blanks is named "Like This", quotes and all`, "%s",
				refused.Message)
		}
		if err == nil && dry {
			return errDry
		}
		return err
	})
	switch {
	case errors.Is(err, errDry) && a.JSON(), err == nil && a.JSON():
		return a.PrintJSON(done)
	case errors.Is(err, errDry):
		for _, statement := range done.Statements {
			if err := a.Printf("%s;\n", statement); err != nil {
				return err
			}
		}
		return nil
	case err != nil:
		return cli.AttachRefused(err)
	}
	if len(done.Statements) == 0 {
		return a.Printf("attachment %d is unchanged\n", done.ID)
	}
	return a.Printf("attachment %d\n", done.ID)
}

func DetachCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "detach TABLE",
		Short: "Stop running rows of an attached table",
		Long: `Stop running rows of an attached table. TABLE is its name, or that of the attachment.
Running rows go on to their end. Rows that an instance has taken and not started are
given back: their dispatch column is NULL again.`,
		Example: "  bellhop detach images",
		Args: a.Args(func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("which one? It takes one name, as bellhop attachments lists it")
			}
			return nil
		}),
		RunE: a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, args []string) error {
			back, err := s.Detach(ctx, args[0])
			if err != nil {
				return cli.AttachRefused(err)
			}
			return a.Printf("%s is detached; rows given back: %d\n", cli.Clean(args[0]), back)
		}),
	}
}

func AttachmentsCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "attachments",
		Short:   "List attached tables, and why their rows do not run",
		Example: "  bellhop attachments",
		Args:    a.NoArgs(),
		RunE: a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, _ []string) error {
			list, err := s.AttachmentsToShow(ctx)
			return cli.PrintRows(a, list, err, "no table is attached; to run the rows of one: bellhop attach TABLE --cmd PROGRAM --pool 4",
				"NAME, TABLE, WAITING, AHEAD, RUNNING, POOL, DONE, FAILED, RATE, KEY, DISPATCH, RUNS, STATE, TROUBLE", attachmentRow)
		}),
	}
}

func attachmentRow(x view.AttachmentRow) []any {
	return []any{x.Name, x.Table, x.WaitingText(), x.Ahead, x.Running, x.Pool, x.Done, x.Failed, x.RateText(),
		strings.Join(x.Key, ","), x.Dispatch, x.Runs(), x.State, x.Trouble}
}
