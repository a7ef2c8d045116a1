//go:build unix

package pgdev

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// superuser and database are the same in every cluster.
const superuser, database = "bellhop", "bellhop"

// hba is the access rules: over the socket, whose folder only the server's account may enter, any role without a
// password; over loopback with a password.
const hba = `# Written by bellhop when it made this cluster.
local all all trust
local replication all trust
host all all 127.0.0.1/32 scram-sha-256
`

// conf is appended to postgresql.conf; it may be changed there. What must hold
// (port, addresses) is on the server's command line instead.
const conf = `
# Written by bellhop when it made this cluster.
max_connections = 200
autovacuum = on
synchronous_commit = on
password_encryption = 'scram-sha-256'
search_path = 'public' # not "$user": tables of the role bellhop would be made in the scheduler's schema
`

// exists says whether h holds a cluster, and of which major version.
func (h home) exists() (major int, ok bool, err error) {
	text, err := os.ReadFile(filepath.Join(h.data(), "PG_VERSION"))
	if err == nil {
		major, err = strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			return 0, false, fmt.Errorf("read the version of the cluster in %s: %w", h.data(), err)
		}
		return major, true, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return 0, false, fmt.Errorf("read the version of the cluster: %w", err)
	}
	names, err := os.ReadDir(h.data())
	if len(names) > 0 {
		return 0, false, fmt.Errorf("%s holds something, but no PostgreSQL cluster: move it away, or choose another folder with --data-dir", h.data())
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, false, fmt.Errorf("look into the cluster's folder: %w", err)
	}
	return 0, false, nil
}

// create makes the cluster beside its place and moves it there when it is
// whole. With lasting, all of it is on the disk by then.
func (h home) create(ctx context.Context, b Binaries, a account, lasting bool) error {
	// The language and sorting of C.UTF-8 are the same everywhere; where the
	// system does not know it, C sorts the same.
	var err error
	for _, locale := range []string{"C.UTF-8", "C"} {
		if err = h.initdb(ctx, b, a, lasting, locale); err == nil || !strings.Contains(err.Error(), "invalid locale") {
			break
		}
	}
	if err != nil {
		return err
	}
	for name, text := range map[string]string{"pg_hba.conf": hba, "postgresql.conf": conf} {
		if err := h.addFile(name, text, lasting); err != nil {
			return fmt.Errorf("configure the new cluster: %w", err)
		}
	}
	if err := os.Rename(h.fresh(), h.data()); err != nil {
		return fmt.Errorf("move the new cluster to its place: %w", err)
	}
	if !lasting {
		return nil
	}
	folder, err := os.Open(string(h))
	if err != nil {
		return fmt.Errorf("sync the cluster's folder: %w", err)
	}
	defer folder.Close()
	if err := folder.Sync(); err != nil {
		return fmt.Errorf("sync the cluster's folder: %w", err)
	}
	return nil
}

func (h home) initdb(ctx context.Context, b Binaries, a account, lasting bool, locale string) error {
	if err := os.RemoveAll(h.fresh()); err != nil {
		return fmt.Errorf("throw a half-made cluster away: %w", err)
	}
	if err := errors.Join(os.Mkdir(h.fresh(), 0o700), a.own(h.fresh())); err != nil {
		return fmt.Errorf("make the cluster's folder: %w", err)
	}
	args := []string{"--pgdata=" + h.fresh(), "--username=" + superuser, "--encoding=UTF8", "--locale=" + locale,
		"--auth=trust", "--no-instructions"}
	if !lasting {
		args = append(args, "--no-sync")
	}
	var said bytes.Buffer
	cmd := a.command(exec.CommandContext(ctx, filepath.Join(b.Dir, "initdb"), args...), string(h))
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return fmt.Errorf("make a cluster with %s/initdb: %w\n%s", b.Dir, err, bytes.TrimSpace(said.Bytes()))
	}
	return nil
}

// addFile sets pg_hba.conf, or adds to the end of postgresql.conf. initdb has
// made both, for the server's account.
func (h home) addFile(name, text string, lasting bool) error {
	how := os.O_WRONLY | os.O_APPEND
	if name == "pg_hba.conf" {
		how = os.O_WRONLY | os.O_TRUNC
	}
	f, err := os.OpenFile(filepath.Join(h.fresh(), name), how, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if lasting && err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
