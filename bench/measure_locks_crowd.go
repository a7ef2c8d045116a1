package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"time"
)

const (
	pickAmidMany = "one hot lock beside 10,000 jobs that wait for 100 others, 200 running: line → next line, p50"
	foretellMany = "explain with a forecast among 10,000 waiting jobs, all of it"
)

// amidACrowd times how a lock is handed on while many jobs wait for others, against few jobs, and how long it takes
// to foretell when one of the many starts.
func (s *session) amidACrowd(ctx context.Context, round int) error {
	b := s.b
	s.uncounted = true // the crowd waits for ever
	n := b.length(200, 1000)
	for _, c := range []struct {
		label   string
		waiting int
	}{{"bellhop, 100 waiting", 100}, {"bellhop", 10_000}} {
		if err := s.crowd(ctx, c.waiting); err != nil {
			return err
		}
		if _, err := s.hops(ctx, 50); err != nil { // what is new has been looked at
			return err
		}
		hops, err := s.hops(ctx, n)
		if err != nil {
			return err
		}
		b.note(round, pickAmidMany, c.label, percentile(hops, 0.5), "ms")
	}
	var late int64 // nine of ten wait before it
	const nth = "select id from bellhop.jobqueue where state = 'ready' order by id offset 9000 limit 1"
	if err := s.conn.QueryRow(ctx, nth).Scan(&late); err != nil {
		return err
	}
	var took []float64
	for deadline := time.Now().Add(30 * time.Second); len(took) < 5; {
		began := time.Now()
		out, err := exec.CommandContext(ctx, b.binary, "explain", strconv.FormatInt(late, 10), "-o", "json",
			"--database-url", s.db.url).Output()
		if err != nil {
			return fmt.Errorf("explain: %w", err)
		}
		ms := float64(time.Since(began)) / 1e6
		var said struct {
			P50 *time.Time `json:"starts_p50"`
		}
		if err := json.Unmarshal(out, &said); err != nil {
			return fmt.Errorf("explain: %w: %s", err, out)
		}
		switch { // how long jobs take is written down with the scan, every few seconds
		case said.P50 != nil:
			took = append(took, ms)
		case time.Now().After(deadline):
			return fmt.Errorf("explain foretells nothing: %s", out)
		}
	}
	slices.Sort(took)
	b.note(round, foretellMany, "bellhop", percentile(took, 0.5), "ms")
	return nil
}

// crowd lets so many jobs wait in all for 100 of 200 locks, which jobs of an instance that is
// not there hold for ever.
func (s *session) crowd(ctx context.Context, waiting int) error {
	for _, text := range []string{
		`insert into bellhop.instance (name, hostname, machine, pid, process_start, version, lag)
		 select 'elsewhere', 'elsewhere', 'elsewhere', 1, '', '', '1 day' where not exists (select from bellhop.instance where name = 'elsewhere')`,
		`insert into bellhop.asserted select id from bellhop.instance where name = 'elsewhere' on conflict do nothing`,
		`with made as (
		   insert into bellhop.jobqueue (type, args, locks, state, instance, fence, attempt, started_at, host)
		   select 'noop', 'holds', array['crowd:' || g || '=exclusive'], 'running', i.id, 1, 1, clock_timestamp(), 'elsewhere'
		     from generate_series(1, 200) g, bellhop.instance i
		    where i.name = 'elsewhere' and not exists (select from bellhop.lock_grant where level = 'crowd')
		   returning id, fence, locks[1] as lock, instance)
		 insert into bellhop.lock_grant (level, name, job, fence, mode, instance)
		 select 'crowd', substring(lock from 'crowd:([0-9]+)='), id, fence, 'exclusive', instance from made`,
	} {
		if _, err := s.conn.Exec(ctx, text); err != nil {
			return err
		}
	}
	_, err := s.conn.Exec(ctx, `insert into bellhop.jobqueue (type, args, locks)
		select 'noop', 'waits', array['crowd:' || 1 + g % 100 || '=exclusive']
		  from generate_series(1, $1 - (select count(*) from bellhop.jobqueue where args = 'waits')) g`, waiting)
	if err != nil {
		return err
	}
	_, err = s.conn.Exec(ctx, "analyze bellhop.jobqueue")
	return err
}
