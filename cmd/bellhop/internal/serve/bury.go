package serve

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bellhop/agents/guard"
	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/machine"
	"bellhop/scheduler"
	"bellhop/sql/store"
)

// bury is the word under which this program tells other machines that an instance is dead.
const bury = "bury"

// heirs gives what the guards of an instance become when it is dead.
type heirs func(scheduler.InstanceID) guard.Heir

// heirsOf gives this program, which knows the database by its environment, as the instance itself does.
func heirsOf(where cli.Database) heirs {
	dir, err := os.Getwd() // files that a URL names may lie there
	if err != nil || where.Embedded {
		return nil
	}
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "DATABASE_URL=") })
	env = append(env, "DATABASE_URL="+where.URL)
	return func(id scheduler.InstanceID) guard.Heir {
		return guard.Heir{Argv: []string{"bellhop", bury, strconv.FormatInt(int64(id), 10)}, Env: env, Dir: dir}
	}
}

// buryPatience is how long a database that is away is tried: an instance often dies with it. After that, others wait
// for the lag.
const buryPatience = time.Minute

// BuryCommand gives back the jobs of an instance of this machine whose process is gone.
func BuryCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: bury + " INSTANCE", Hidden: true, Args: a.Args(cobra.ExactArgs(1)),
		Short: "Give back the jobs of an instance that was killed on this machine",
		Long: `Gives back the jobs of an instance whose process on this machine is gone, after the
processes that it left are dead. An instance that runs, or ran elsewhere, is left alone.
Guards of an instance that was killed run this.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil {
				return cli.Usage(bury, fmt.Sprintf("%q is not the number of an instance", args[0]), "bellhop instances")
			}
			where, err := a.ServedDatabase()
			if err != nil {
				return err
			}
			registry, err := store.NewRegistry(where.URL)
			if err != nil {
				return err
			}
			defer registry.Close()
			ctx, cancel := context.WithTimeout(cmd.Context(), buryPatience)
			defer cancel()
			return reaper{registry, machine.This()}.buryOne(ctx, scheduler.InstanceID(id))
		},
	}
}

// buryOne takes over from one instance, if it is proven dead. A database that is away is tried again.
func (u reaper) buryOne(ctx context.Context, id scheduler.InstanceID) error {
	for {
		err := u.tryToBury(ctx, id)
		var away *scheduler.Unreachable
		if !errors.As(err, &away) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(500 * time.Millisecond):
		}
	}
}

func (u reaper) tryToBury(ctx context.Context, id scheduler.InstanceID) error {
	live, err := u.Suspects(ctx, 0)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(live, func(s scheduler.Suspect) bool { return s.ID == id })
	if at < 0 || !u.Dead(live[at]) {
		return nil // another instance was faster, or it lives, or is another machine's
	}
	if err := u.Reap(ctx, live[at]); err != nil {
		return err
	}
	_, _, err = u.MarkGone(ctx, id, fmt.Sprintf("its process %d is gone", live[at].Pid), true)
	return err
}
