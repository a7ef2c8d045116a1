package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// bellhop is the binary with the configuration of a newcomer: agents, and
// nothing else unless a measure is about it.
type bellhop struct {
	b      *bench
	label  string   // "bellhop" unless a measure compares two of them
	binary string   // the bench's own unless a measure compares two of them
	types  []string // of the agents; empty: noop
	max    int      // children of a type, 0: the default
	slots  int      // of the host, 0: the default
	env    []string // besides ours
	listen string   // where its pages are asked for, as an operator; empty: none are
	many   int      // instances on the one database, 0: one
	cmd    *exec.Cmd
	more   []*exec.Cmd // the instances beside the first
	log    string
	file   string // its configuration
	url    string
}

// both are the binary and, where one is named (-before), the older one that it is compared with.
func (b *bench) both() []bellhop {
	list := []bellhop{{b: b, label: "bellhop"}}
	if b.before != "" {
		list = append(list, bellhop{b: b, label: programBefore, binary: b.before})
	}
	return list
}

func (p *bellhop) name() string {
	if p.label != "" {
		return p.label
	}
	return "bellhop"
}
func (p *bellhop) pid() int { return p.cmd.Process.Pid }

// pids are those of all instances.
func (p *bellhop) pids() []int {
	pids := []int{p.pid()}
	for _, cmd := range p.more {
		pids = append(pids, cmd.Process.Pid)
	}
	return pids
}

func (p *bellhop) config(o options) string {
	var y strings.Builder
	if p.slots > 0 {
		fmt.Fprintf(&y, "hosts:\n  - {name: local, slots: %d}\n", p.slots)
	}
	if p.listen != "" {
		y.WriteString("tokens:\n  - {name: bench, role: operator, env: BENCH_TOKEN}\n")
	}
	if o.Exec { // a command of an attachment stands in the database
		y.WriteString("commands_from_database: true\n")
	}
	y.WriteString("agents:\n")
	for _, t := range p.served() {
		if o.Exec {
			fmt.Fprintf(&y, "  - {type: %s, command: [/bin/true], mode: exec}\n", t)
			continue
		}
		fmt.Fprintf(&y, "  - {type: %s, command: [%s], max: %d, env: {BENCH_NOTES: %q}}\n", t, p.b.agent, p.max, o.Notes)
	}
	return y.String()
}

// served are the types that it has agents for.
func (p *bellhop) served() []string {
	if len(p.types) == 0 {
		return []string{"noop"}
	}
	return p.types
}

// defaultSlots is how many children the host of a newcomer has.
func defaultSlots() int { return max(4, 2*runtime.NumCPU()) }

func (p *bellhop) start(ctx context.Context, url string, o options) error {
	p.file, p.url = filepath.Join(p.b.tmp, "bellhop.yaml"), url
	if p.many > 1 { // else all of them would do it at once
		if err := p.b.migrate(ctx, cmp.Or(p.binary, p.b.binary), url); err != nil {
			return err
		}
	}
	if err := os.WriteFile(p.file, []byte(p.config(o)), 0o644); err != nil {
		return err
	}
	p.log = filepath.Join(p.b.tmp, "serve.log")
	log, err := os.Create(p.log)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	p.more = nil
	for n := range max(1, p.many) {
		cmd, err := p.serve(log)
		if err != nil {
			return err
		}
		if n == 0 {
			p.cmd = cmd
		} else {
			p.more = append(p.more, cmd)
		}
	}
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		var live bool
		err := conn.QueryRow(ctx, "select count(*) >= $1 from bellhop.instance where state = 'live'",
			max(1, p.many)).Scan(&live)
		if err == nil && live {
			return nil
		}
		if time.Now().After(deadline) {
			_ = p.stop()
			return fmt.Errorf("bellhop serve did not come up; %s", tail(p.log))
		}
	}
}

// serve starts one instance.
func (p *bellhop) serve(log *os.File) (*exec.Cmd, error) {
	cmd := exec.Command(cmp.Or(p.binary, p.b.binary), "serve", "-c", p.file, "--database-url", p.url,
		"--listen", cmp.Or(p.listen, "127.0.0.1:0"))
	cmd.Env = append(append(os.Environ(), p.env...), "BENCH_TOKEN="+siteToken)
	cmd.Stdout, cmd.Stderr = log, log
	return cmd, cmd.Start()
}

// join starts one more.
func (p *bellhop) join() error {
	log, err := os.OpenFile(p.log, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	cmd, err := p.serve(log)
	if err == nil {
		p.more = append(p.more, cmd)
	}
	return err
}

// stop ends it as an operator would. Its exit code is of no interest here.
func (p *bellhop) stop() error {
	all := append([]*exec.Cmd{p.cmd}, p.more...)
	for _, cmd := range all {
		_ = cmd.Process.Signal(syscall.SIGTERM)
	}
	timer := time.AfterFunc(30*time.Second, func() {
		for _, cmd := range all {
			_ = cmd.Process.Kill()
		}
	})
	defer timer.Stop()
	for _, cmd := range all {
		_ = cmd.Wait()
	}
	return nil
}

func (p *bellhop) insertOne() string {
	return "insert into bellhop.jobqueue (type, args) values ('noop', $1)"
}
func (p *bellhop) insertMany() string {
	return "insert into bellhop.jobqueue (type, args) select 'noop', g::text from generate_series(1, $1::int) g"
}

// left has all conditions of an index in each of its parts: else it would read the whole queue, while the watch runs.
func (p *bellhop) left() string {
	ready := "select count(*) from bellhop.jobqueue where state = 'ready' and not held and type = any ('{" +
		strings.Join(p.served(), ",") + "}') and "
	return "select (" + ready + "locks is null and share is null and run_on is null) + (" +
		ready + "locks is null and share is not null) + (" + ready + "locks is not null)" + `
		+ (select count(*) from bellhop.jobqueue where state in ('assigned', 'running') and instance is not null)`
}

func (p *bellhop) bad() string {
	return "select count(*) from bellhop.jobqueue where state <> 'succeeded' or attempt <> 1"
}

// migrate makes a binary's schema in a database without an instance.
func (b *bench) migrate(ctx context.Context, binary, url string) error {
	if out, err := exec.CommandContext(ctx, binary, "migrate", "--database-url", url).CombinedOutput(); err != nil {
		return fmt.Errorf("bellhop migrate: %w: %s", err, out)
	}
	return nil
}
