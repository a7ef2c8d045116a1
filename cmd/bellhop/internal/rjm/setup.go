package rjm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/scheduler"
	"bellhop/scheduler/lock"
	"bellhop/sql/view"
)

func SetupCommand(a *cli.App) *cobra.Command {
	var prio string
	var blocks, locks, files, sets []string
	c := &cobra.Command{
		Use:   "rjmsetup [-p PRIORITY] ID",
		Short: "Set up a job, held until rjmgo",
		Long: `Set up a job, held until rjmgo releases it. ID is TYPE.NONCE; task_TYPE runs the job. A
second, equal setup changes nothing; another setup under the same ID is refused.

The job's configuration comes from stdin: assignments of bash, which the task gets as
variables. The jobs of rjm_blocks=(ID...) must not start before this one has succeeded;
set them up first, and do not release them yet. The files of rjm_delete=(FILE...) are
deleted when the job has succeeded. The job holds the locks of rjm_locks=(LOCK...) while
it runs, such as customer:42=exclusive: two jobs with the same lock never run at once.
Instead of assignments, stdin may hold a JSON object of strings, with the same three as
arrays; that needs no shell. With --set, --block, --lock or --delete, stdin is not read.`,
		Example: `  bellhop rjmsetup billing.simpsons-8761230871234 <<< 'userid=simpsons invoice=8761230871234'
  bellhop rjmsetup -p c billing.simpsons-2 --set userid=simpsons --block shipping.simpsons-2 --delete simpsons-2.in`,
		Args: a.Args(func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("it takes one ID, such as billing.simpsons-42; got %d words", len(args))
			}
			return nil
		}),
		RunE: withRJM(a, func(cmd *cobra.Command, args []string) error {
			s := view.RJMSetup{ID: args[0], Priority: prio}
			var err error
			if len(sets)+len(blocks)+len(locks)+len(files) > 0 {
				s.Blocks, s.Locks, s.Files = blocks, locks, files
				s.Config, err = configOfFlags(sets,
					map[string][]string{"rjm_blocks": blocks, "rjm_delete": files, "rjm_locks": locks})
			} else {
				err = readConfig(cmd.Context(), a, &s)
			}
			if err == nil {
				_, err = lock.ParseAll(s.Locks, nil)
			}
			if err != nil {
				return refusedLock(err)
			}
			if id, err := strconv.ParseInt(a.Getenv("BELLHOP_JOB_ID"), 10, 64); err == nil {
				inside := scheduler.JobID(id)
				s.Inside = &inside
			}
			return a.WithDatabase(func(ctx context.Context, db *cli.Session, _ *cobra.Command, _ []string) error {
				_, err := db.SetUpRJM(ctx, s)
				return refusedSetup(err)
			})(cmd, args)
		}),
	}
	c.Flags().StringVarP(&prio, "priority", "p", "n", "letters and digits; a comes before b")
	c.Flags().StringArrayVar(&sets, "set", nil, "a variable for the task, `name=value`; repeatable")
	c.Flags().StringArrayVar(&blocks, "block", nil, "the `ID` of a job that waits for this one; repeatable")
	c.Flags().StringArrayVar(&locks, "lock", nil, "a `lock` that it holds while it runs, such as customer:42=exclusive; repeatable")
	c.Flags().StringArrayVar(&files, "delete", nil, "a `file` to delete when it has succeeded; repeatable")
	return c
}

// refusedLock puts a lock that cannot be read into words.
func refusedLock(err error) error {
	var wrong *lock.TextError
	if errors.As(err, &wrong) {
		return cli.Usage("rjmsetup", cli.Flat(err.Error()), "rjm_locks=(customer:42=exclusive node:n1=shared)")
	}
	return err
}

// refusedSetup puts what the queue refused into words.
func refusedSetup(err error) error {
	var refused *pgconn.PgError
	if !errors.As(err, &refused) {
		return err
	}
	switch {
	case refused.ConstraintName == "jobqueue_priority_name":
		return cli.Usage("rjmsetup", "a priority has only letters and digits", "bellhop rjmsetup -p n ID")
	case strings.HasPrefix(refused.Code, "22"):
		return cli.Usage("rjmsetup", refused.Message, refused.Hint)
	case strings.HasPrefix(refused.Code, "23"), strings.HasPrefix(refused.Code, "55"):
		return cli.Failed(cli.ExitJobFailed, "rjmsetup", refused.Hint, "%s", refused.Message)
	}
	return err
}

// bashName is what a variable of bash may be called.
var bashName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// configText builds the configuration that means these variables. Arrays are
// lists of strings, all else is a string.
func configText(vars map[string][]string, array map[string]bool, order []string) (string, error) {
	var b strings.Builder
	for _, name := range order {
		if !bashName.MatchString(name) {
			return "", cli.Usage("rjmsetup", fmt.Sprintf("%q is not a valid name of a variable", name), "letters, digits and _")
		}
		if slices.ContainsFunc(vars[name], func(v string) bool { return strings.Contains(v, "\x00") }) {
			return "", cli.Usage("rjmsetup", name+" holds a zero byte", "leave it out")
		}
		quoted := make([]string, len(vars[name]))
		for i, v := range vars[name] {
			quoted[i] = "'" + strings.ReplaceAll(v, "'", `'\''`) + "'"
		}
		value := strings.Join(quoted, " ")
		if array[name] {
			value = "(" + value + ")"
		}
		b.WriteString(name + "=" + value + "\n")
	}
	return b.String(), nil
}

// listNames are the names that begin with rjm_ and mean something: lists.
var listNames = []string{"rjm_blocks", "rjm_delete", "rjm_locks"}

const listWords = "rjm_blocks, rjm_delete and rjm_locks"

func configOfFlags(sets []string, lists map[string][]string) (string, error) {
	vars, array, order := map[string][]string{}, map[string]bool{}, []string{}
	for _, s := range sets {
		name, value, ok := strings.Cut(s, "=")
		if _, twice := vars[name]; !ok || twice || strings.HasPrefix(name, "rjm_") {
			return "", cli.Usage("rjmsetup",
				fmt.Sprintf("--set %q: want name=value, each name once, none that begins with rjm_", s), "bellhop rjmsetup --help")
		}
		vars[name] = []string{value}
		order = append(order, name)
	}
	for _, name := range listNames {
		if list := lists[name]; len(list) > 0 {
			vars[name], array[name] = list, true
			order = append(order, name)
		}
	}
	return configText(vars, array, order)
}

// readConfig reads a configuration from stdin, as bash or as JSON.
func readConfig(ctx context.Context, a *cli.App, s *view.RJMSetup) error {
	text, err := io.ReadAll(io.LimitReader(a.Stdin, 1<<20))
	if err != nil {
		return err
	}
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		return configOfJSON(text, s)
	}
	s.Config = string(text)
	return evaluateConfig(ctx, s)
}

func configOfJSON(text []byte, s *view.RJMSetup) error {
	var given map[string]any
	if err := json.Unmarshal(text, &given); err != nil {
		return cli.Usage("rjmsetup", "the JSON on stdin: "+err.Error(), `{"userid": "simpsons", "rjm_blocks": ["shipping.simpsons-42"]}`)
	}
	vars, array, order := map[string][]string{}, map[string]bool{}, []string{}
	for name, v := range given {
		switch v := v.(type) {
		case string:
			vars[name] = []string{v}
		case []any:
			array[name], vars[name] = true, []string{}
			for _, one := range v {
				text, ok := one.(string)
				if !ok {
					return cli.Usage("rjmsetup", fmt.Sprintf("%s holds a value that is not a string: %v", name, one), `put quotes around it`)
				}
				vars[name] = append(vars[name], text)
			}
		default:
			return cli.Usage("rjmsetup", fmt.Sprintf("%s is neither a string nor an array of strings", name), "put quotes around it")
		}
		list := slices.Contains(listNames, name)
		if list != array[name] && list || !list && strings.HasPrefix(name, "rjm_") {
			return cli.Usage("rjmsetup",
				name+": the only names that begin with rjm_ are "+listWords+", and they are arrays", "bellhop rjmsetup --help")
		}
		order = append(order, name)
	}
	slices.Sort(order)
	s.Blocks, s.Files, s.Locks = vars["rjm_blocks"], vars["rjm_delete"], vars["rjm_locks"]
	var err error
	s.Config, err = configText(vars, array, order)
	return err
}
