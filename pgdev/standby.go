//go:build unix

package pgdev

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// copyOf makes the data of a standby: a copy of a running cluster, and the
// settings by which the new server follows it.
func (h home) copyOf(ctx context.Context, b Binaries, a account, primary *Cluster) error {
	if err := errors.Join(os.RemoveAll(h.fresh()), os.Mkdir(h.fresh(), 0o700), a.own(h.fresh())); err != nil {
		return fmt.Errorf("make the standby's folder: %w", err)
	}
	var said bytes.Buffer
	cmd := a.command(exec.CommandContext(ctx, filepath.Join(b.Dir, "pg_basebackup"), "--pgdata="+h.fresh(),
		"--dbname="+primary.URL(), "--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast",
		"--no-sync"), string(h))
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return fmt.Errorf("copy the cluster in %s: %w\n%s", primary.home, err, bytes.TrimSpace(said.Bytes()))
	}
	if err := os.Rename(h.fresh(), h.data()); err != nil {
		return fmt.Errorf("move the standby's data to its place: %w", err)
	}
	return nil
}
