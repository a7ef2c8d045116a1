//go:build unix

package pgdev

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
)

// Config says what cluster is wanted. Its zero value is a temporary cluster
// for a test.
type Config struct {
	// Dir is where the cluster lives and stays; it is made when missing.
	// Empty: a fresh temporary folder that Stop removes; one that is not
	// durable may lie in memory (/dev/shm).
	Dir string
	// Durable keeps PostgreSQL's default durability. False, for tests only:
	// what is committed survives a killed server (Restart recovers it), but no
	// crash of the machine.
	Durable bool
	// Programs is a folder where PostgreSQL's programs are put, from the net,
	// where this machine has none. Empty: they are not (ErrNotFound).
	Programs string
	// Log is told what is started, mended and stopped. May be nil.
	Log *slog.Logger
	// Settings are further settings of the server, by PostgreSQL's names. They count for the process that starts the
	// server, not for one that attaches.
	Settings map[string]string
	// StandbyOf is a running cluster: the new one starts as a copy of it and
	// follows it, read only, until it is promoted. For tests of failovers.
	StandbyOf *Cluster
}

// Cluster is a private PostgreSQL server that this process owns, maybe
// together with others (see the package comment). Its methods may be called
// from several goroutines. It runs none of its own.
type Cluster struct {
	home      home
	temporary bool
	durable   bool
	settings  map[string]string
	standbyOf *Cluster
	log       *slog.Logger
	bin       Binaries
	account   account

	state   state // does not change after Start
	watcher *watcher
	owners  *os.File // holds owners.lock, shared, until Stop

	mu      sync.Mutex
	child   int // the server's pid where it is our own child, to reap it
	stopped bool
}

// Start gives a running cluster with an empty (or kept) database "bellhop". It
// makes the cluster when there is none, mends what a crash left (a stale pid
// file, orphaned processes, a half-finished initdb) and attaches to a server
// that another process already runs in cfg.Dir; then Stop only detaches while
// others are attached.
//
// When ctx ends before the server is up, nothing stays. Errors: ErrNotFound
// when there is no PostgreSQL; else what is wrong and what to type, with the
// end of the server's log where it refused to start.
func Start(ctx context.Context, cfg Config) (*Cluster, error) {
	c := &Cluster{temporary: cfg.Dir == "", durable: cfg.Durable, settings: cfg.Settings, standbyOf: cfg.StandbyOf,
		log: cfg.Log}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	err := c.settle(cfg.Dir)
	if errors.Is(err, ErrNotFound) && cfg.Programs != "" {
		c.log.Info("downloading PostgreSQL", "version", downloadVersion, "to", cfg.Programs)
		if c.bin, err = Download(ctx, cfg.Programs); err == nil {
			err = c.settle(cfg.Dir)
		}
	}
	if err != nil {
		return nil, err
	}
	lock, err := c.home.lockStart(ctx)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	if err := c.up(ctx); err != nil {
		// What is half up goes down the way of Stop.
		return nil, errors.Join(err, c.leave(context.WithoutCancel(ctx), "immediate"))
	}
	return c, nil
}

// settle finds the folder, the programs and the account.
func (c *Cluster) settle(dir string) error {
	if c.temporary {
		var err error
		if c.bin.Dir == "" { // not downloaded
			if c.bin, err = Find(); err != nil {
				return err
			}
		}
		if c.account, err = accountFor(""); err != nil {
			return err
		}
		if err = c.account.canEnter(c.bin.Dir); err != nil {
			return err
		}
		c.home, err = temporaryHome(c.account, !c.durable)
		return err
	}
	major := 0
	if h, err := lookHome(dir); err == nil {
		if major, _, err = h.exists(); err != nil {
			return err
		}
	}
	var err error
	if c.bin.Dir == "" { // not downloaded
		c.bin, err = system.find(major)
	}
	if err == nil && major != 0 && c.bin.Major != major {
		err = fmt.Errorf("%w in the one version that can run this cluster, %d", ErrNotFound, major)
	}
	if err != nil {
		if major != 0 {
			return fmt.Errorf("run the cluster in %s: %w", dir, err)
		}
		return err
	}
	if c.home, err = openHome(dir); err != nil {
		return err
	}
	if c.account, err = accountFor(c.home.data()); err != nil {
		return err
	}
	return errors.Join(c.account.canEnter(string(c.home)), c.account.canEnter(c.bin.Dir))
}

// up brings the server up, or attaches to it. The caller holds start.lock.
func (c *Cluster) up(ctx context.Context) error {
	var err error
	if c.owners, err = c.home.openLock("owners.lock"); err != nil {
		return err
	}
	// Before anything else is made, so that whatever happens to us, it goes.
	if c.watcher, err = watch(c.home, c.temporary, c.owners); err != nil {
		return err
	}
	c.state = c.home.readState()
	if c.standbyOf != nil {
		c.state.Password = c.standbyOf.state.Password // the roles are copied too
	}
	if c.state.Password == "" {
		c.state.Password = newPassword()
	}
	for {
		p, running := c.home.live()
		if !running {
			break
		}
		err := c.attach(ctx, p)
		if err == nil {
			c.log.Info("attached to the embedded PostgreSQL", "dir", string(c.home), "pid", p.pid)
			return nil
		}
		if !errors.Is(err, errGone) {
			return err
		}
	}
	if err := c.mayStart(); err != nil {
		return err
	}
	if err := c.home.sweep(ctx); err != nil {
		return err
	}
	_, exists, err := c.home.exists()
	if err != nil {
		return err
	}
	if !exists {
		c.log.Info("making a PostgreSQL cluster", "dir", string(c.home), "version", c.bin.Version)
		if err := c.create(ctx); err != nil {
			return err
		}
	}
	return c.begin(ctx)
}

// create makes the cluster's data: an empty one, or a copy of what this one follows.
func (c *Cluster) create(ctx context.Context) error {
	if c.standbyOf != nil {
		return c.home.copyOf(ctx, c.bin, c.account, c.standbyOf)
	}
	return c.home.create(ctx, c.bin, c.account, c.durable && !c.temporary)
}

// mayStart takes our share in owners.lock, and refuses when a server may run
// where we cannot see it.
func (c *Cluster) mayStart() error {
	alone, err := try(c.owners, lockAlone)
	if err != nil {
		return err
	}
	if _, err := try(c.owners, lockShared); err != nil {
		return err
	}
	if here := pidSpace(); !alone && c.state.PIDSpace != "" && c.state.PIDSpace != here {
		return fmt.Errorf("the cluster in %s is in use from another container, whose server cannot be reached from here: connect to it with --database-url, or choose another folder with --data-dir", c.home)
	}
	return nil
}

// Stop lets go of the cluster; it may be called more than once. The last owner
// shuts the server down fast (a temporary one immediately: what is thrown away
// needs no checkpoint), waits until every process of it is gone, and removes
// the folder if it is temporary. When ctx ends first, the server is stopped
// immediately, so Stop takes no more than a few seconds longer.
func (c *Cluster) Stop(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return nil
	}
	lock, err := c.home.lockStart(ctx)
	if err != nil && ctx.Err() != nil { // an ended ctx must not keep us from doing our part
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWord)
		defer cancel()
		lock, err = c.home.lockStart(last)
	}
	c.stopped = true
	if err != nil { // another process is at it for long: our watcher takes our turn
		c.owners.Close()
		c.watcher.takeOver()
		return err
	}
	defer lock.Close()
	mode := "fast"
	if c.temporary {
		mode = "immediate"
	}
	return c.leave(ctx, mode)
}

// leave gives up our share. The caller holds start.lock.
func (c *Cluster) leave(ctx context.Context, mode string) error {
	var err error
	if c.owners != nil {
		err = c.home.lastOut(ctx, c.owners, c.temporary, mode, c.ended)
	} else if c.temporary {
		err = os.RemoveAll(string(c.home))
	}
	c.reap()
	c.log.Info("left the embedded PostgreSQL", "dir", string(c.home))
	if c.watcher != nil {
		c.watcher.dismiss()
	}
	return err
}

// lastOut stops the server if owners is the last share in it, and gives the
// share up. The caller holds start.lock.
func (h home) lastOut(ctx context.Context, owners *os.File, temporary bool, mode string, ended func(int) bool) error {
	defer owners.Close()
	defer func() { _, _ = try(owners, lockNone) }() // the watcher has the file open too
	alone, err := try(owners, lockAlone)
	if err != nil || !alone {
		return err
	}
	sockets := h.readState().Sockets
	server, _ := readPIDFile(h.data())
	if err := h.stopServer(ctx, mode, ended); err != nil {
		return err
	}
	h.dropSockets(sockets)
	if !temporary {
		return nil
	}
	dropSharedMemory(server.shmKey, server.shmID) // there is no next start, which would do it
	if err := os.RemoveAll(string(h)); err != nil {
		return fmt.Errorf("remove the temporary cluster: %w", err)
	}
	return nil
}

// Restart stops the server in the given mode (fast, immediate or smart) and
// starts it again with the same port, socket and data; one that is down is
// only started. When ctx ends in between, the server may be left down.
func (c *Cluster) Restart(ctx context.Context, mode string) error {
	if _, ok := shutdowns[mode]; !ok {
		return fmt.Errorf("restart PostgreSQL: no such mode %q: fast, immediate or smart", mode)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return errors.New("restart PostgreSQL: the cluster was stopped")
	}
	lock, err := c.home.lockStart(ctx)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := c.home.stopServer(ctx, mode, c.ended); err != nil {
		return fmt.Errorf("restart PostgreSQL: %w", err)
	}
	c.reap()
	if err := c.launch(ctx); err != nil {
		return fmt.Errorf("restart PostgreSQL: %w", err)
	}
	return nil
}

// Kill kills the server's main process with SIGKILL and does not wait: as
// close to a crash of PostgreSQL as can be had. Restart mends it.
func (c *Cluster) Kill() {
	if p, ok := c.home.live(); ok {
		c.home.signalServer(p.pid, shutdownKill)
	}
}

// PID is the server's main process, 0 when there is none.
func (c *Cluster) PID() int {
	if p, ok := c.home.live(); ok {
		return p.pid
	}
	return 0
}

// Dir is the folder where the cluster lives.
func (c *Cluster) Dir() string { return string(c.home) }

// URL is the database "bellhop" over the unix socket, for pgx, psql and all
// that uses libpq. It needs no password, and works for the server's account
// and root only. It stays the same over Restart.
func (c *Cluster) URL() string { return socketURL(c.state.Sockets, c.state.Port, database) }

// TCPURL is the same database over 127.0.0.1, password included, for programs
// that know no unix sockets or run under another account.
func (c *Cluster) TCPURL() string {
	return fmt.Sprintf("postgres://%s:%s@127.0.0.1:%d/%s?sslmode=disable", superuser, c.state.Password, c.state.Port,
		database)
}

// Running gives the URL of the cluster that runs in dir, and false when none
// is ready there (or its folder may not be read). Commands in a second
// terminal find the database of a `serve` by it.
func Running(dir string) (url string, ok bool) {
	h, err := lookHome(dir)
	if err != nil {
		return "", false
	}
	p, ok := h.live()
	if !ok || !p.ready() || p.socket == "" {
		return "", false
	}
	return socketURL(p.socket, p.port, database), true
}

// socketURL names a database over the socket in dir. dir needs no escaping
// that pgx and libpq would differ about: see fitsSocket.
func socketURL(dir string, port int, name string) string {
	return fmt.Sprintf("postgres://%s@/%s?host=%s&port=%d", superuser, name, strings.ReplaceAll(dir, "/", "%2F"), port)
}
