package torture

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"bellhop/pgdev"
	"bellhop/pgdev/wire"
)

// patience is for what takes a second on a machine with nothing else to do, and a lag of that machine (quickLag).
const patience = 90 * time.Second

// quickLag is the lag that the instances promise where the machine can keep so short a one.
const quickLag = 3 * time.Second

// paced is the lag for a machine where a command takes so long: a heartbeat that takes longer than four fifths of the
// lag ends what runs, and a queue whose instances lose their leases again and again finishes no long job.
func paced(command time.Duration) time.Duration {
	return min(max(quickLag, 10*command), 5*quickLag).Round(time.Millisecond)
}

// stretched gives a time that is meant for a quick machine as this machine needs it.
func (s *stage) stretched(d time.Duration) time.Duration {
	return time.Duration(float64(d) * max(1, s.lag.Seconds()/quickLag.Seconds()) * max(1, s.slower))
}

// stage is where one history happens: a database, its instances and what is done to them.
type stage struct {
	program  string        // the bellhop under test
	lag      time.Duration // of its instances; 0 until prepare knows what the machine can keep
	dir      string        // of this history
	database string        // its URL for instances and clients
	servers  []*pgdev.Cluster
	luck     *rand.Rand // it may be used at once by several
	admin    *pgxpool.Pool

	mu        sync.Mutex // of instances, gone and story: faults may be at work at once
	instances []*instance
	gone      []*instance // those that a fault has ended for good
	runs      int         // instances started
	story     []string
	strokes   int
	startup   time.Duration // how long the first instances took until they were live: how busy the machine is
	pace      time.Duration // how long the program took to tell its version at that time
	slower    float64       // how many times as long it took in a recovery, at most: how much busier the machine is
	recorded  bool          // what happens to each job
	kills     int           // agents that were killed
	lostTail  bool          // a promoted server lacks the newest commits
}

func (s *stage) journal() string { return filepath.Join(s.dir, "journal") }

// did keeps what was done, for the story of a violation.
func (s *stage) did(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.story = append(s.story, time.Now().UTC().Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
}

// between gives a time from one to another, by the history's luck.
func (s *stage) between(from, to time.Duration) time.Duration {
	return from + time.Duration(s.luck.Int64N(int64(to-from)))
}

// pause lets the work go on. It is the pace of the harm: there is no event to wait for.
func (s *stage) pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// some gives one of the instances that run.
func (s *stage) some() *instance {
	s.mu.Lock()
	defer s.mu.Unlock()
	up := slices.DeleteFunc(slices.Clone(s.instances), (*instance).over)
	if len(up) == 0 {
		return s.instances[s.luck.IntN(len(s.instances))]
	}
	return up[s.luck.IntN(len(up))]
}

// connect opens the pool that looks and does harm. It never goes through a line with faults.
func (s *stage) connect(ctx context.Context) error {
	config, err := pgxpool.ParseConfig(s.database)
	if err != nil {
		return err
	}
	config.MaxConns = 6
	config.ConnConfig.RuntimeParams["application_name"] = "torture"
	config.ConnConfig.RuntimeParams["default_transaction_read_only"] = "off" // a fault sets it for the database
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	s.admin, err = pgxpool.NewWithConfig(ctx, config)
	return err
}

// sql runs one statement, again and again where the server is away.
func (s *stage) sql(ctx context.Context, text string, args ...any) error {
	return s.again(ctx, text, func() error {
		_, err := s.admin.Exec(ctx, text, args...)
		return err
	})
}

// number reads one number.
func (s *stage) number(ctx context.Context, text string, args ...any) (n int64, err error) {
	err = s.again(ctx, text, func() error { return s.admin.QueryRow(ctx, text, args...).Scan(&n) })
	return n, err
}

// again repeats what a server that is away refuses, until patience ends.
func (s *stage) again(ctx context.Context, what string, do func() error) error {
	return s.until(ctx, what, func() (bool, error) { err := do(); return err == nil, err })
}

// until looks until it is so. The last error says why it is not.
func (s *stage) until(ctx context.Context, what string, look func() (bool, error)) error {
	for end := time.Now().Add(s.stretched(patience)); ; {
		ok, err := look()
		if ok {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if time.Now().After(end) {
			return errors.Join(fmt.Errorf("%s: not within %s", what, s.stretched(patience)), err)
		}
		s.pause(ctx, 50*time.Millisecond)
	}
}

// prepare makes the tables of the work, and starts the first instances.
func (s *stage) prepare(ctx context.Context, instances int, lines bool) error {
	if err := errors.Join(os.MkdirAll(s.journal(), 0o777), s.connect(ctx)); err != nil {
		return err
	}
	if err := s.sql(ctx, tablesSQL, pgx.QueryExecModeSimpleProtocol); err != nil {
		return err
	}
	if s.recorded {
		if err := s.sql(ctx, recordSQL, pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
	}
	began := time.Now()
	definition := filepath.Join(s.dir, "workflow.yaml")
	if err := os.WriteFile(definition, []byte(workflowText), 0o600); err != nil {
		return err
	}
	if err := s.run(ctx, "workflow", "apply", definition); err != nil {
		return err
	}
	if err := s.run(ctx, "attach", "torture_row", "--type", "warm", "--pool", "4", "--status-col", "status"); err != nil {
		return err
	}
	if s.lag == 0 {
		s.lag = paced(time.Since(began) / 2)
	}
	began = time.Now()
	for range instances {
		if err := s.add(lines); err != nil {
			return err
		}
	}
	err := s.live(ctx, instances)
	s.startup = time.Since(began)
	s.pace = s.versionTold(ctx)
	return err
}

// versionTold is how long the program takes to tell its version: a start that asks no database and no instance.
func (s *stage) versionTold(ctx context.Context) time.Duration {
	began := time.Now()
	_ = exec.CommandContext(ctx, s.program, "version").Run() // only its time counts
	return time.Since(began)
}

// comparesPace looks, until its result is called, how much slower the machine is than before the first fault.
func (s *stage) comparesPace(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	most := make(chan float64, 1)
	go func() {
		slower := 1.0
		for ctx.Err() == nil {
			if took := s.versionTold(ctx); ctx.Err() == nil {
				slower = max(slower, took.Seconds()/s.pace.Seconds())
			}
			s.pause(ctx, time.Second)
		}
		most <- slower
	}()
	return func() {
		cancel()
		s.slower = max(s.slower, <-most)
	}
}

// run runs one command of the program under test on the history's database.
func (s *stage) run(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, s.program, append(args, "--database-url", s.database)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir}
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("bellhop %s: %w: %s", strings.Join(args, " "), err, said)
	}
	return nil
}

// add starts one more instance, behind a line of its own where there is to be one.
func (s *stage) add(line bool) error {
	s.runs++
	i := &instance{program: s.program, dir: filepath.Join(s.dir, fmt.Sprintf("instance-%d", s.runs)), url: s.database}
	if line {
		var err error
		if i.line, i.url, err = wire.Through(s.database); err != nil {
			return err
		}
	}
	i.yaml = configuration(i.url, fmt.Sprintf("i%d", s.runs), s.program, s.journal(), s.lag)
	if err := i.start(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.instances = append(s.instances, i)
	return nil
}

// live waits until so many instances are registered.
func (s *stage) live(ctx context.Context, n int) error {
	return s.until(ctx, fmt.Sprintf("%d instances are live", n), func() (bool, error) {
		for _, i := range s.instances {
			if i.over() {
				return false, fmt.Errorf("an instance has ended: see %s/log", i.dir)
			}
		}
		var live int
		err := s.admin.QueryRow(ctx, "select count(*) from bellhop.instance where state = 'live'").Scan(&live)
		return live >= n, err
	})
}

// heal starts again what is down.
func (s *stage) heal(ctx context.Context) error {
	for _, i := range s.instances {
		if i.over() {
			s.did("start again %s", filepath.Base(i.dir))
			if err := i.start(); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// close ends all that is left of a stage.
func (s *stage) close() {
	for _, i := range append(s.instances, s.gone...) {
		if !i.over() {
			i.kill()
		}
		if i.line != nil {
			i.line.Close()
		}
		_ = i.log.Close() // it has been written
	}
	if s.admin != nil {
		s.admin.Close()
	}
}

// hosts names one database on several servers, in this order.
func hosts(servers ...*pgdev.Cluster) (string, error) {
	var names []string
	var named *url.URL
	for _, c := range servers {
		u, err := url.Parse(c.TCPURL())
		if err != nil {
			return "", err
		}
		names, named = append(names, u.Host), u
	}
	named.Host, named.RawQuery = strings.Join(names, ","), named.RawQuery+"&target_session_attrs=read-write"
	return named.String(), nil
}
