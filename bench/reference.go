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
// No retries, no recovery, no tracing. With receipts (latency): claim 1,
// synchronous commit, 1 child. Without (drain): claim 1000, 8 children in
// lockstep, completions in batches of 1000, 3 connections.
type reference struct {
	b      *bench
	cancel context.CancelFunc
	done   sync.WaitGroup
	kids   []*kid
}

type kid struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func (r *reference) name() string { return "reference" }

const referenceSchema = `
create table ref_job (id bigint generated always as identity primary key, state smallint not null default 0, runs smallint not null default 0, args text);
create index ref_ready on ref_job (id) where state = 0;
create index ref_busy on ref_job (id) where state = 1;
create function ref_ring() returns trigger language plpgsql as $$ begin perform pg_notify('ref', ''); return null; end $$;
create trigger ring after insert on ref_job for each statement execute function ref_ring();`

const referenceClaim = `update ref_job set state = 1, runs = runs + 1 where id = any (array(
  select id from ref_job where state = 0 order by id limit $1 for update skip locked)) returning id, args`

func (r *reference) start(ctx context.Context, url, seen string) error {
	ctx, r.cancel = context.WithCancel(ctx)
	var conns [3]*pgx.Conn
	for i := range conns {
		c, err := pgx.Connect(ctx, url)
		if err != nil {
			return err
		}
		conns[i] = c
	}
	if _, err := conns[0].Exec(ctx, referenceSchema); err != nil {
		return err
	}
	for _, c := range conns { // tables of an hour ago look small to a planner that has not seen them
		if _, err := c.Exec(ctx, "set enable_seqscan = off"); err != nil {
			return err
		}
	}
	if _, err := conns[0].Exec(ctx, "listen ref"); err != nil {
		return err
	}
	n, batch := 8, 1000
	if seen != "" {
		n, batch = 1, 1
	}
	for range n {
		k, err := r.fork(seen)
		if err != nil {
			return err
		}
		r.kids = append(r.kids, k)
	}
	rang := make(chan struct{}, 1)
	r.done.Go(func() {
		for {
			if _, err := conns[0].WaitForNotification(ctx); err != nil {
				return
			}
			select {
			case rang <- struct{}{}:
			default:
			}
		}
	})
	type job struct {
		id   int64
		args string
	}
	work, finished := make(chan job, batch), make(chan int64, 2*batch)
	for _, k := range r.kids {
		r.done.Go(func() {
			for {
				select {
				case j := <-work:
					if k.do(j.args) != nil {
						return
					}
					finished <- j.id
				case <-ctx.Done():
					return
				}
			}
		})
	}
	r.done.Go(func() { // claims
		defer func() { _ = conns[1].Close(context.Background()) }()
		for ctx.Err() == nil {
			rows, err := conns[1].Query(ctx, referenceClaim, batch)
			if err != nil {
				return
			}
			var jobs []job
			var j job
			if _, err := pgx.ForEachRow(rows, []any{&j.id, &j.args}, func() error { jobs = append(jobs, j); return nil }); err != nil {
				return
			}
			for _, j := range jobs {
				select {
				case work <- j:
				case <-ctx.Done():
					return
				}
			}
			if len(jobs) < batch {
				select {
				case <-rang:
				case <-ctx.Done():
				}
			}
		}
	})
	r.done.Go(func() { // completions: whatever has gathered, at most a batch
		defer func() { _ = conns[2].Close(context.Background()) }()
		for {
			var ids []int64
			select {
			case id := <-finished:
				ids = append(ids, id)
			case <-ctx.Done():
				return
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
			if _, err := conns[2].Exec(ctx, "update ref_job set state = 2 where id = any ($1)", ids); err != nil {
				return
			}
		}
	})
	return nil
}

func (r *reference) fork(seen string) (*kid, error) {
	cmd := exec.Command(r.b.agent)
	cmd.Env = append(os.Environ(), "BENCH_SEEN="+seen)
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
	k := &kid{cmd, in, bufio.NewReader(out)}
	_, err = k.out.ReadSlice('\n')
	return k, err
}

func (k *kid) do(line string) error {
	if _, err := fmt.Fprintln(k.in, line); err != nil {
		return err
	}
	_, err := k.out.ReadSlice('\n')
	return err
}

func (r *reference) stop() {
	r.cancel()
	for _, k := range r.kids {
		_ = k.in.Close()
		_ = k.cmd.Process.Kill()
		_ = k.cmd.Wait() // killed: it has nothing to tell
	}
	r.done.Wait()
}

func (r *reference) insertOne() string { return "insert into ref_job (args) values ($1)" }
func (r *reference) insertMany() string {
	return "insert into ref_job (args) select g::text from generate_series(1, $1::int) g"
}
func (r *reference) left() string {
	return "select (exists (select from ref_job where state = 0) or exists (select from ref_job where state = 1))::int"
}
func (r *reference) double() string {
	return "select count(*) from ref_job where state <> 2 or runs <> 1"
}
