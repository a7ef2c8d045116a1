package rjm

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/cmd/bellhop/internal/serve"
	"bellhop/config"
	"bellhop/machine"
	"bellhop/scheduler"
	"bellhop/sql/store"
	"bellhop/sql/view"
)

func ProcCommand(a *cli.App) *cobra.Command {
	var id, types, priorities string
	c := &cobra.Command{
		Use:   "rjmproc -i ID [-t REGEXP] [-p REGEXP]",
		Short: "Run jobs of RJM, one at a time",
		Long: `Run jobs of RJM, one at a time, until a signal stops it: bellhop serve with one slot.
Before each job it reads the tasks file (tasks.sh beside conf.sh, or rjm_taskconf). It
runs task_TYPE: a function in that file, or a program on PATH.

ID is unique on this host: a second worker with the same ID ends at once, so cron may
start it every few minutes. It runs no job before this host's rjmd has started.
-t and -p restrict it to jobs whose type or priority matches, as egrep would.`,
		Example: "  bellhop rjmproc -i 1\n  bellhop rjmproc -i fast -t '^(billing|notify)$' -p '^[a-g]'",
		Args:    a.NoArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !workerName.MatchString(id) || id == "rjmd" {
				return cli.Usage("rjmproc", fmt.Sprintf("-i %q: a worker needs a name of letters, digits, _ and -", id), "bellhop rjmproc -i 1")
			}
			for flag, text := range map[string]string{"-t": types, "-p": priorities} {
				if _, err := regexp.CompilePOSIX(text); err != nil {
					return cli.Usage("rjmproc", fmt.Sprintf("%s %q: %s", flag, text, err), "bellhop rjmproc --help")
				}
			}
			conf, err := rjm(cmd.Context(), a)
			if err != nil {
				return err
			}
			return only(cmd.Context(), a, conf, id, func() error {
				if err := waitForRJMD(cmd.Context(), a, conf); err != nil {
					return err
				}
				host := config.Host{Name: scheduler.HostName(conf.host + ":" + id), Slots: 1, Serves: []string{conf.host},
					Takes: &scheduler.Only{RJM: types, Names: priorities}}
				return serve.Run(cmd.Context(), a, serve.Config{Config: rjmConfig(a, conf, host)})
			})
		},
	}
	c.Flags().StringVarP(&id, "id", "i", "", "the worker's `name`, unique on this host")
	c.Flags().StringVarP(&types, "type", "t", "", "only jobs whose type matches this `regexp`")
	c.Flags().StringVarP(&priorities, "priority", "p", "", "only jobs whose priority matches this `regexp`")
	return c
}

// workerName is what a worker may be called: it stands behind its host's name and a colon.
var workerName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

func DaemonCommand(a *cli.App) *cobra.Command {
	var slots int
	c := &cobra.Command{
		Use:   "rjmd [-n SLOTS]",
		Short: "Run the daemon of RJM on this host",
		Long: `Run the daemon of RJM: one on each host (a second one ends at once). It deletes the
files of jobs that succeeded here (rjm_delete), takes over from dead workers and hosts,
and lets this host's workers begin. It is bellhop serve; with -n it also runs jobs, like
that number of workers.`,
		Example: "  bellhop rjmd\n  bellhop rjmd -n 4",
		Args:    a.NoArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if slots < 0 {
				return cli.Usage("rjmd", fmt.Sprintf("-n %d is below 0", slots), "bellhop rjmd -n 4")
			}
			conf, err := rjm(cmd.Context(), a)
			if err != nil {
				return err
			}
			return only(cmd.Context(), a, conf, "", func() error {
				host := config.Host{Name: scheduler.HostName(conf.host), Slots: slots, Takes: &scheduler.Only{}}
				return serve.Run(cmd.Context(), a, serve.Config{Config: rjmConfig(a, conf, host), Recover: true, Beside: conf.dust})
			})
		},
	}
	c.Flags().IntVarP(&slots, "slots", "n", 0, "`number` of jobs that it runs at once itself")
	return c
}

// rjmConfig is a configuration of one host, whose only agent does RJM's jobs.
// Tasks may set up jobs: they find the database and this program.
func rjmConfig(a *cli.App, conf rjmConf, host config.Host) func() (config.Config, error) {
	return func() (config.Config, error) {
		c := config.Default()
		where, err := a.ServedDatabase()
		env := map[string]string{"RJM_TASKS": conf.tasks}
		if err == nil && where.URL != "" {
			env["DATABASE_URL"] = where.URL
		}
		if err == nil && where.URL == "" {
			for _, name := range []string{"PGSERVICE", "PGHOST", "PGHOSTADDR", "PGDATABASE", "PGPORT", "PGUSER", "PGPASSWORD", "PGPASSFILE", "PGSSLMODE"} {
				if value := a.Getenv(name); value != "" {
					env[name] = value
				}
			}
		}
		env["PATH"] = cmp.Or(a.Getenv("PATH"), "/usr/local/bin:/usr/bin:/bin")
		if program := cli.OwnProgram(); program != "" {
			env["PATH"] += ":" + filepath.Dir(program)
		}
		c.Instance.Name = string(host.Name)
		if c.Instance.Name == conf.host {
			c.Instance.Name = conf.rjmd()
		}
		c.Listen = "127.0.0.1:0" // there are many of them on a host
		c.Hosts = []config.Host{host}
		c.Agents = []config.Agent{
			{Type: scheduler.RJMType, Command: []string{"bash", "--norc", "--noprofile", "-c", taskScript, "task"},
				Mode: config.ModeExec, Dialect: config.DialectAuto, Env: env, Vars: []string{"RJM_CONFIG"}, WorkDir: conf.workDir},
		}
		return c, nil
	}
}

// rjmScope is what a name is unique in, beside this host: a database. One that
// this program starts itself is known by its folder, before it is there too.
func rjmScope(ctx context.Context, a *cli.App) (string, error) {
	where, err := a.ServedDatabase()
	switch {
	case err != nil && cli.ExplainFailure(err).Code != cli.ExitNoDatabase:
		return "", err
	case err != nil || where.Embedded:
		dir, err := filepath.Abs(a.DataDir)
		return "embedded " + dir, err
	}
	conn, err := a.Dial(ctx, where, nil)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // it is not needed any more
	return view.NewLook(conn).Identity(ctx)
}

// only runs f if no other process of this host has the name on this database;
// it is no mistake to try.
func only(ctx context.Context, a *cli.App, conf rjmConf, worker string, f func() error) error {
	scope, err := rjmScope(ctx, a)
	if err != nil {
		return err
	}
	dir := filepath.Join(conf.tmpDir, fmt.Sprintf("rjm-%d", os.Getuid()))
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return cli.Failed(cli.ExitSystem, "lock", "rjm_tmpdir names another folder", "%s", err)
	}
	var stat unix.Stat_t
	if err := unix.Lstat(dir, &stat); err != nil || stat.Mode&unix.S_IFMT != unix.S_IFDIR || int(stat.Uid) != os.Getuid() {
		return cli.Failed(cli.ExitSystem, "lock", "rjm_tmpdir names another folder", "%s is not a folder of this account's",
			dir)
	}
	sum := sha256.Sum256([]byte(scope))
	path := filepath.Join(dir, conf.host+":"+worker+":"+hex.EncodeToString(sum[:6]))
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return cli.Failed(cli.ExitSystem, "lock", "", "%s", err)
	}
	defer file.Close() // which lets go, as does the end of this process, or another program in its place
	lock := func() error { return unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) }
	err = lock()
	// What one that was killed has just started still has its files, until it becomes another program.
	for until := time.Now().Add(time.Second); errors.Is(err, unix.EWOULDBLOCK) && time.Now().Before(until); err = lock() {
		time.Sleep(20 * time.Millisecond)
	}
	switch {
	case errors.Is(err, unix.EWOULDBLOCK):
		another := "rjmd"
		if worker != "" {
			another = "worker " + worker
		}
		a.Note("another %s runs on this host, for this database: it has locked %s", another, path)
		return nil
	case err != nil:
		return cli.Failed(cli.ExitSystem, "lock", "", "%s: %s", path, err)
	}
	return f()
}

// rjmd is what the instance of this host's rjmd is called.
func (conf rjmConf) rjmd() string { return conf.host + ":rjmd" }

// waitForRJMD returns when this host's rjmd lives: until then, nothing starts.
func waitForRJMD(ctx context.Context, a *cli.App, conf rjmConf) error {
	s, err := a.Open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	said := false
	return a.Poll(ctx, s, func(ctx context.Context) (news, done bool, err error) {
		lives, err := lives(ctx, s, conf.rjmd())
		if err == nil && !lives && !said {
			said = true
			a.Note("waits for the rjmd of %s", conf.host)
		}
		return false, lives, err
	})
}

// lives reports whether an instance of that name lives: one of this machine by
// its process, which a kill takes at once, any other by its heartbeat.
func lives(ctx context.Context, s *cli.Session, name string) (bool, error) {
	list, err := s.Live(ctx, name)
	if err != nil {
		return false, err
	}
	here := machine.This()
	return slices.ContainsFunc(list, func(i view.LiveRow) bool {
		if here != "" && i.Machine == here {
			start, err := machine.ProcessStart(i.Pid)
			return err != nil || start == i.ProcessStart
		}
		return !i.Silent
	}), nil
}

const (
	dustEvery = time.Second
	dustMost  = 100
)

// dust deletes the files of jobs that have succeeded here, until ctx ends.
// Whatever ends it on the way, what is deleted already is no mistake the next time.
func (conf rjmConf) dust(ctx context.Context, url string, log *slog.Logger) {
	duster, err := store.NewCleaner(url)
	if err != nil {
		log.Error("no file will be deleted", "error", err)
		return
	}
	defer duster.Close()
	tick := time.NewTicker(dustEvery)
	defer tick.Stop()
	for {
		list, err := duster.Uncleaned(ctx, conf.host, dustMost)
		for i := range list {
			trouble := conf.delete(list[i].Files)
			if trouble != "" && trouble != list[i].Trouble {
				log.Warn("cannot delete a file of a job; it is tried again", "job", list[i].Job, "error", trouble)
			}
			list[i].Trouble = trouble
		}
		if err == nil && len(list) > 0 {
			err = duster.Cleaned(ctx, list)
		}
		if err != nil && ctx.Err() == nil {
			log.Warn("files are not deleted now", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// delete deletes files. One that is not there is deleted; a folder is not.
func (conf rjmConf) delete(files []string) (trouble string) {
	for _, name := range files {
		if !filepath.IsAbs(name) {
			name = filepath.Join(conf.workDir, name)
		}
		switch err := unix.Unlink(name); err {
		case nil, unix.ENOENT, unix.ENOTDIR:
		case unix.EISDIR:
			trouble = name + " is a folder, which is not deleted"
		default:
			trouble = name + ": " + err.Error()
		}
	}
	return trouble
}
