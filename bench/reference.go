package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// reference is the least code that could do the work: statement trigger → one
// LISTEN connection → claim → one line to warm children → batched completion.
// No retries, no recovery, no tracing. For single jobs: claim 1, synchronous
// commit, 1 child. For a drain: claim 1000, 8 children in lockstep,
// completions in batches of 1000, 3 connections.
type reference struct {
	process
	b *bench
}

func (r *reference) name() string { return "reference" }

func (r *reference) start(_ context.Context, url string, o options) error {
	return r.run(r.b, yardstick{Kind: "reference", URL: url, Agent: r.b.agent, options: o})
}

func (r *reference) insertOne() string { return "insert into ref_job (args) values ($1)" }
func (r *reference) insertMany() string {
	return "insert into ref_job (args) select g::text from generate_series(1, $1::int) g"
}
func (r *reference) left() string {
	return "select (select count(*) from ref_job where state = 0) + (select count(*) from ref_job where state = 1)"
}
func (r *reference) bad() string {
	return "select count(*) from ref_job where state <> 2 or runs <> 1"
}

const referenceSchema = `
create table if not exists ref_job (id bigint generated always as identity primary key, state smallint not null default 0, runs smallint not null default 0, args text);
create index if not exists ref_ready on ref_job (id) where state = 0;
create index if not exists ref_busy on ref_job (id) where state = 1;
create or replace function ref_ring() returns trigger language plpgsql as $$ begin perform pg_notify('ref', ''); return null; end $$;
create or replace trigger ring after insert on ref_job for each statement execute function ref_ring();`

const referenceClaim = `update ref_job set state = 1, runs = runs + 1 where id = any (array(
  select id from ref_job where state = 0 order by id limit $1 for update skip locked)) returning id, args`

type referenceJob struct {
	id   int64
	args string
}

// worker does one line and says when it is done.
type worker interface {
	do(line string) error
	end()
}

// startReference is the dispatcher itself. It stops by the function it gives.
func startReference(ctx context.Context, y yardstick) (stop func() error, err error) {
	ctx, cancel := context.WithCancel(ctx)
	var conns [3]*pgx.Conn
	for i := range conns {
		if conns[i], err = pgx.Connect(ctx, y.URL); err != nil {
			cancel()
			return nil, err
		}
		// A table that was just filled looks small to a planner that has not seen it.
		if _, err := conns[i].Exec(ctx, "set enable_seqscan = off"); err != nil {
			cancel()
			return nil, err
		}
	}
	if _, err := conns[0].Exec(ctx, referenceSchema+"listen ref"); err != nil {
		cancel()
		return nil, err
	}
	children, batch := 1, 1
	if y.Drain || y.Exec {
		children, batch = 8, 1000
	}
	var crew []worker
	for range children {
		var w worker = execWorker{}
		if !y.Exec {
			if w, err = startChild(y.Agent, y.Notes); err != nil {
				cancel()
				return nil, err
			}
		}
		crew = append(crew, w)
	}
	var all sync.WaitGroup
	rang := make(chan struct{}, 1)
	work, finished := make(chan referenceJob, batch), make(chan int64, 2*batch)
	failed := func(err error) {
		if ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, "reference:", err)
			os.Exit(1)
		}
	}
	all.Go(func() { // hears the ring
		for {
			if _, err := conns[0].WaitForNotification(ctx); err != nil {
				failed(err)
				return
			}
			select {
			case rang <- struct{}{}:
			default:
			}
		}
	})
	for _, w := range crew {
		all.Go(func() {
			for {
				select {
				case j := <-work:
					if err := w.do(j.args); err != nil {
						failed(err)
						return
					}
					finished <- j.id
				case <-ctx.Done():
					return
				}
			}
		})
	}
	all.Go(func() {
		if err := referenceClaims(ctx, conns[1], batch, rang, work); err != nil {
			failed(err)
		}
	})
	all.Go(func() {
		if err := referenceCompletions(ctx, conns[2], batch, finished); err != nil {
			failed(err)
		}
	})
	return func() error {
		cancel()
		for _, w := range crew {
			w.end()
		}
		all.Wait()
		return nil
	}, nil
}

func referenceClaims(
	ctx context.Context, conn *pgx.Conn, batch int, rang <-chan struct{}, work chan<- referenceJob,
) error {
	for ctx.Err() == nil {
		rows, err := conn.Query(ctx, referenceClaim, batch)
		if err != nil {
			return err
		}
		var jobs []referenceJob
		var j referenceJob
		if _, err := pgx.ForEachRow(rows, []any{&j.id, &j.args},
			func() error { jobs = append(jobs, j); return nil }); err != nil {
			return err
		}
		for _, j := range jobs {
			select {
			case work <- j:
			case <-ctx.Done():
			}
		}
		if len(jobs) < batch {
			select {
			case <-rang:
			case <-ctx.Done():
			}
		}
	}
	return nil
}

// referenceCompletions writes whatever has gathered within 2 ms, at most a batch.
func referenceCompletions(ctx context.Context, conn *pgx.Conn, batch int, finished <-chan int64) error {
	for {
		var ids []int64
		select {
		case id := <-finished:
			ids = append(ids, id)
		case <-ctx.Done():
			return nil
		}
		wait := time.After(2 * time.Millisecond)
	gather:
		for len(ids) < batch {
			select {
			case id := <-finished:
				ids = append(ids, id)
			case <-wait:
				break gather
			}
		}
		if _, err := conn.Exec(ctx, "update ref_job set state = 2 where id = any ($1)", ids); err != nil {
			return err
		}
	}
}

// child is a warm process in lockstep: a line, then its OK.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startChild(program, notes string) (*child, error) {
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), "BENCH_NOTES="+notes)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &child{cmd, in, bufio.NewReader(out)}
	_, err = c.out.ReadSlice('\n')
	return c, err
}

func (c *child) do(line string) error {
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		return err
	}
	_, err := c.out.ReadSlice('\n')
	return err
}

func (c *child) end() {
	_ = c.in.Close()
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait() // killed: it has nothing to tell
}

// execWorker is a process for every job.
type execWorker struct{}

func (execWorker) do(line string) error { return exec.Command("/bin/true", line).Run() }
func (execWorker) end()                 {}
