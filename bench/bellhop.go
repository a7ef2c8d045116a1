package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// bellhop is the binary with the configuration of a newcomer.
type bellhop struct {
	b      *bench
	binary string
	cmd    *exec.Cmd
}

func (p *bellhop) name() string { return "bellhop" }
func (p *bellhop) pid() int     { return p.cmd.Process.Pid }

func (p *bellhop) start(ctx context.Context, url, seen string) error {
	file := filepath.Join(p.b.tmp, "bellhop.yaml")
	text := fmt.Sprintf("agents:\n  - type: noop\n    command: [%s]\n", p.b.agent)
	if seen != "" {
		text += fmt.Sprintf("    env: {BENCH_SEEN: %s}\n", seen)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(p.b.tmp, "serve.log"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	p.cmd = exec.Command(p.binary, "serve", "-c", file, "--database-url", url, "--listen", "127.0.0.1:0")
	p.cmd.Stderr = log
	if err := p.cmd.Start(); err != nil {
		return err
	}
	return p.warm(ctx, url)
}

// warm waits until one job has gone through, and takes it away.
func (p *bellhop) warm(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		var live int
		if err := conn.QueryRow(ctx, "select count(*) from bellhop.instance where state = 'live'").Scan(&live); err == nil && live == 1 {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("bellhop serve did not come up; see %s", filepath.Join(p.b.tmp, "serve.log"))
		}
	}
	if _, err := conn.Exec(ctx, p.insertOne(), "warm"); err != nil {
		return err
	}
	return p.b.settle(ctx, conn, p, 20*time.Second)
}

func (p *bellhop) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	_ = p.cmd.Wait() // its exit code is of no interest to a measurement
}

func (p *bellhop) insertOne() string {
	return "insert into bellhop.jobqueue (type, args) values ('noop', $1)"
}
func (p *bellhop) insertMany() string {
	return "insert into bellhop.jobqueue (type, args) select 'noop', g::text from generate_series(1, $1::int) g"
}
func (p *bellhop) left() string {
	return "select (exists (select from bellhop.jobqueue where type = 'noop' and state = 'ready' and not held) or exists (select from bellhop.jobqueue where state in ('assigned', 'running') and instance is not null))::int"
}
func (p *bellhop) double() string {
	return "select count(*) from bellhop.jobqueue where state <> 'succeeded' or attempt <> 1"
}
