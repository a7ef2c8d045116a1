//go:build unix

package pgdev

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	lockAlone    = unix.LOCK_EX
	lockShared   = unix.LOCK_SH
	lockNone     = unix.LOCK_UN
	shutdownKill = syscall.SIGKILL
)

// errGone: the server that we were about to attach to has ended.
var errGone = errors.New("the server is gone")

// attach waits until the server that runs as p takes connections, or is gone
// (it may just be shutting down).
func (c *Cluster) attach(ctx context.Context, p pidFile) error {
	if _, err := try(c.owners, lockShared); err != nil {
		return err
	}
	err := until(ctx, func() (bool, error) {
		now, ok := c.home.live()
		if !ok || now.pid != p.pid {
			return false, errGone
		}
		p = now
		return p.ready(), nil
	})
	if err != nil {
		return fmt.Errorf("attach to the server %d in %s: %w", p.pid, c.home, err)
	}
	fresh := c.state.Port != p.port || c.state.Sockets != p.socket
	c.state.Port, c.state.Sockets = p.port, p.socket
	if c.state.PIDSpace == "" {
		c.state.PIDSpace = pidSpace()
	}
	if fresh { // cluster.json was lost
		if err := c.home.writeState(c.state); err != nil {
			return err
		}
	}
	return c.prepare(ctx, p.pid)
}

// begin starts the server of a cluster that is there and swept, on its old
// port where that is free.
func (c *Cluster) begin(ctx context.Context) error {
	c.home.dropSockets(c.state.Sockets)
	var err error
	if c.state.Sockets, err = c.home.makeSockets(c.account); err != nil {
		return err
	}
	c.state.PIDSpace = pidSpace()
	for tries := 0; ; tries++ {
		if !portFree(c.state.Port) {
			if c.state.Port != 0 {
				c.log.Warn("the port of the embedded PostgreSQL is taken: it moves to another", "port", c.state.Port)
			}
			if c.state.Port, err = freePort(); err != nil {
				return err
			}
		}
		if err := c.home.writeState(c.state); err != nil {
			return err
		}
		err := c.launch(ctx)
		// Between our look and the server's, another program may take the port.
		if err == nil || tries == 3 || !strings.Contains(err.Error(), "Address already in use") {
			return err
		}
	}
}

// launch runs the server and waits until it takes connections. On an error
// nothing of it stays.
func (c *Cluster) launch(ctx context.Context) error {
	log, err := c.home.openLog()
	if err != nil {
		return err
	}
	defer log.Close()
	info, err := log.Stat()
	if err != nil {
		return fmt.Errorf("look at the server's log: %w", err)
	}
	// Not bound to ctx: the server outlives it. Its end is seen by ended.
	cmd := c.account.command(exec.Command(filepath.Join(c.bin.Dir, "postgres"), c.arguments()...), string(c.home))
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	pid := cmd.Process.Pid
	c.child = pid
	_ = cmd.Process.Release() // ended reaps it
	err = until(ctx, func() (bool, error) {
		if c.ended(pid) {
			return false, fmt.Errorf("it ended at once; its log %s says:\n%s", c.home.log(), c.home.logSince(info.Size()))
		}
		p, ok := readPIDFile(c.home.data())
		return ok && p.pid == pid && p.ready(), nil
	})
	if err == nil {
		err = c.prepare(ctx, pid)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("start PostgreSQL: %w", err), c.abort(ctx))
	}
	c.log.Info("started the embedded PostgreSQL", "dir", string(c.home), "pid", pid, "port", c.state.Port, "version",
		c.bin.Version)
	return nil
}

// abort ends the server that launch began; it may not have a pid file yet.
func (c *Cluster) abort(ctx context.Context) error {
	if pid := c.child; pid != 0 { // not reaped: the pid is still its own
		_ = unix.Kill(pid, unix.SIGQUIT)
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWord)
		defer cancel()
		if until(last, func() (bool, error) { return c.ended(pid), nil }) != nil {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
	return c.home.sweep(context.WithoutCancel(ctx))
}

// arguments is the server's command line: our defaults, then what was asked
// for, then what must hold.
func (c *Cluster) arguments() []string {
	settings := map[string]string{"cluster_name": "bellhop"}
	if !c.durable {
		settings["fsync"] = "off"
		settings["full_page_writes"] = "off"
	}
	if c.temporary || !c.durable {
		// in the cluster's folder, so that it goes with it even after kill -9
		settings["dynamic_shared_memory_type"] = "mmap"
	}
	maps.Copy(settings, c.settings)
	maps.Copy(settings, map[string]string{
		"listen_addresses":        "127.0.0.1",
		"port":                    strconv.Itoa(c.state.Port),
		"unix_socket_directories": c.state.Sockets,
		"unix_socket_permissions": "0700",
		"logging_collector":       "off", // we hold the log
		"log_destination":         "stderr",
	})
	args := []string{"-D", c.home.data()}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		args = append(args, "-c", name+"="+settings[name])
	}
	return args
}

// ended says whether the server with pid is gone, and reaps our own child.
func (c *Cluster) ended(pid int) bool {
	if pid != c.child {
		return !serves(pid, c.home.data())
	}
	var status unix.WaitStatus
	got, err := unix.Wait4(pid, &status, unix.WNOHANG, nil)
	if got != pid && !errors.Is(err, unix.ECHILD) { // ECHILD: it was reaped elsewhere
		return false
	}
	c.child = 0
	return true
}

// reap collects our own child if it has died meanwhile.
func (c *Cluster) reap() {
	if c.child != 0 {
		c.ended(c.child)
	}
}

func portFree(port int) bool {
	if port == 0 {
		return false
	}
	l, err := net.Listen("tcp4", "127.0.0.1:"+strconv.Itoa(port))
	if err != nil {
		return false
	}
	return l.Close() == nil
}

// freePort gives a port below those that systems hand to outgoing connections:
// one of these could have taken it by the next start.
func freePort() (int, error) {
	for range 200 {
		if port := 20000 + rand.IntN(10000); portFree(port) {
			return port, nil
		}
	}
	return 0, errors.New("find a free port for PostgreSQL: 200 between 20000 and 29999 are taken; close some, or name a server with --database-url")
}
