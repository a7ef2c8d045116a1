package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	webRows       = "pages: 1,000,000 finished and 100,000 ready rows"
	webFew        = "bellhop, 1,000 rows"
	webFirst      = webRows + ": first byte of the slowest page, p50"
	webAll        = webRows + ": first byte of any page, p99"
	webSearch     = webRows + ": first byte of the slowest search among finished ones, p50"
	webPlanned    = webRows + ": an operation for 100,000 of them is planned in"
	webStatements = "pages: looks of 100 viewers a minute"
	webSpread     = "pages: looks of 100 viewers of eight pages a minute"
	webUnseen     = "pages: looks without a viewer"
	webDrain      = "pages: drain of 50,000 while 100 look"
	webChange     = "pages: commit of a change → the page has it, p50"
	webElsewhere  = "pages: commit of a change elsewhere → the page has it, p50"
	webWait       = "API: outcome is recorded → wait has answered, p50"
	webSize       = "pages: bytes of the first page, with style and script"
	webOne        = "bellhop, one viewer"
	webNone       = "bellhop, no viewer"
	viewers       = 100
)

var webPages = []string{"/", "/jobs", "/jobs?state=failed", "/failures", "/locks", "/hosts", "/operations", "/system"}

// measureWeb takes what pages and the API cost, and how current they are.
func measureWeb(ctx context.Context, b *bench, round int) error {
	return inTurn(round,
		func() error { return b.webTimes(ctx, round) },
		func() error { return b.webLooks(ctx, round) },
		func() error { return b.webDrains(ctx, round) },
		func() error { return b.webCurrent(ctx, round) },
	)
}

// withSite runs f beside a bellhop whose pages are looked at.
func (b *bench) withSite(ctx context.Context, template, label string, f func(*session, *site) error) error {
	db, err := b.database(ctx, template)
	if err != nil {
		return err
	}
	at, err := freeAddress()
	if err != nil {
		return err
	}
	c := &bellhop{b: b, label: label, listen: at}
	return b.in(ctx, db, c, options{Drain: true}, func(s *session) error {
		pages := newSite(at)
		defer pages.client.CloseIdleConnections()
		return f(s, pages)
	})
}

// webFill makes rows as a queue has them after a while: n finished, some of them failed (of a few as many as a page
// shows, and of a million 1,000), and a tenth as many ready of a type without an agent.
func webFill(n int) string {
	every := min(1000, n/60)
	return fmt.Sprintf(`
		set session_replication_role = replica; -- without a ring
		insert into bellhop.jobqueue (type, args, key, state, attempt, fence, host, child, started_at, ended_at, exit_code, error)
		select 'noop', g::text, 'order.' || g, case when g %% %[2]d = 0 then 'failed' else 'succeeded' end, 1, 1, 'local', 'noop.1',
		       clock_timestamp(), clock_timestamp(), (g %% %[2]d = 0)::int, case when g %% %[2]d = 0 then 'exit status 1: disk ' || g %% 7 end
		  from generate_series(1, %[1]d) g;
		insert into bellhop.jobqueue (type, args) select 'later', g::text from generate_series(1, %[1]d / 10) g`, n, every)
}

// besides asks for a page of a large queue and of a small one, in turn: the times of the large one, and the median of
// each.
func (b *bench) besides(ctx context.Context, path string, large, small *site) (all []float64, l, f float64, err error) {
	times := map[*site][]float64{}
	for i := range b.length(20, 60) {
		for _, at := range []*site{large, small} {
			ms, _, err := at.first(ctx, path)
			if err != nil {
				return nil, 0, 0, err
			}
			if i > 0 { // the first warms
				times[at] = append(times[at], ms)
			}
		}
	}
	l, f = percentile(times[large], 0.5), percentile(times[small], 0.5)
	b.say("        %-40s p50 %s ms, with 1,000 rows %s ms: %s", path, number(l), number(f), number(l/f))
	return times[large], l, f, nil
}

// webTimes asks for every page of a large queue and of a small one, in turn.
func (b *bench) webTimes(ctx context.Context, round int) error {
	many, err := b.grown(ctx, webRows, webFill(1_000_000))
	if err != nil {
		return err
	}
	few, err := b.grown(ctx, webFew, webFill(900))
	if err != nil {
		return err
	}
	paths := append([]string{
		"/jobs/500", "/jobs/500/graph", "/workflows", "/api/v1/jobs?limit=50", "/api/v1/jobs/500", "/jobs?state=ready",
		"/jobs?state=held", "/jobs?state=running", "/jobs?type=later", "/jobs?state=failed&type=noop",
		"/jobs?state=failed&state=quarantined&state=held", "/failures?within=1h", "/api/v1/types", "/api/v1/locks", "/api/v1/operations",
	}, webPages...)
	// These look at 50,000 rows at most, and at all of a small queue.
	searches := []string{
		"/jobs?state=succeeded", "/jobs?state=succeeded&key=order.77", "/jobs?error=disk%205", "/api/v1/jobs?state=failed", "/api/v1/failures",
		"/api/v1/stats",
	}
	return b.withSite(ctx, many, "bellhop", func(s *session, large *site) error {
		return b.withSite(ctx, few, webFew, func(_ *session, small *site) error {
			var all, slowest, slowestFew []float64
			search := 0.0
			for _, path := range append(paths, searches...) {
				times, l, f, err := b.besides(ctx, path, large, small)
				if err != nil {
					return err
				}
				if slices.Contains(searches, path) {
					search = max(search, l)
					continue
				}
				if len(slowest) == 0 || l/f > slowest[0]/slowestFew[0] {
					slowest, slowestFew = []float64{l}, []float64{f}
				}
				all = append(all, times...)
			}
			b.note(round, webFirst, "bellhop", slowest[0], "ms")
			b.note(round, webFirst, webFew, slowestFew[0], "ms")
			b.note(round, webAll, "bellhop", percentile(all, 0.99), "ms")
			b.note(round, webSearch, "bellhop", search, "ms")
			began := time.Now()
			a, err := large.ask(ctx, "POST", "/api/v1/operations", `{"verb": "hold", "filter": {"type": ["later"]}, "dry_run": true}`)
			if err != nil {
				return err
			}
			b.note(round, webPlanned, "bellhop", time.Since(began).Seconds()*1000, "ms")
			return a.Body.Close()
		})
	})
}

// webLooks counts what pages ask the server with no viewer, one and 100, on a server that counts statements.
func (b *bench) webLooks(ctx context.Context, round int) error {
	return b.counting(ctx, func(conn *pgx.Conn) error { return b.looks(ctx, conn, round) })
}

func (b *bench) looks(ctx context.Context, conn *pgx.Conn, round int) error {
	return b.withSite(ctx, "", "bellhop", func(s *session, pages *site) error {
		count := func(n int, of []string) (float64, error) {
			stop := pages.watchers(ctx, n, of)
			time.Sleep(3 * time.Second) // what is saved up for a quiet time is spent by then
			if _, err := conn.Exec(ctx, "select pg_stat_statements_reset()"); err != nil {
				return 0, err
			}
			span := time.Duration(b.length(10, 60)) * time.Second
			time.Sleep(span)
			// Each request and each look begins with its role.
			var calls int64
			err := conn.QueryRow(ctx, `select coalesce(sum(calls), 0)::bigint from pg_stat_statements q
				join pg_database d on d.oid = q.dbid where d.datname = $1 and query ilike '%set local role%'`, s.db.name).Scan(&calls)
			return float64(calls) / span.Minutes(), errors.Join(err, stop())
		}
		for _, c := range []struct {
			measure, program string
			n                int
			of               []string
		}{
			{webUnseen, "bellhop", 0, nil},
			{webStatements, webOne, 1, webPages[:1]}, {webStatements, "bellhop", viewers, webPages[:1]},
			{webSpread, "bellhop", viewers, webPages},
		} {
			calls, err := count(c.n, c.of)
			if err != nil {
				return err
			}
			b.note(round, c.measure, c.program, calls, "")
		}
		return nil
	})
}

// webDrains lets it work off many jobs with no viewer and with 100.
func (b *bench) webDrains(ctx context.Context, round int) error {
	const n = 50_000
	take := func(label string, looking int) func() error {
		return func() error {
			return b.withSite(ctx, "", label, func(s *session, pages *site) error {
				stop := pages.watchers(ctx, looking, webPages)
				if err := s.fill(ctx, 2000); err != nil {
					return err
				}
				if err := s.settle(ctx, time.Minute); err != nil {
					return err
				}
				if err := s.vacuum(ctx); err != nil {
					return err
				}
				rate, err := s.drain(ctx, n)
				if err != nil {
					return err
				}
				b.note(round, webDrain, label, rate, "jobs/s")
				return errors.Join(stop(), s.check(ctx))
			})
		}
	}
	return inTurn(round, take(webNone, 0), take("bellhop", viewers))
}

// webCurrent takes how long a page, and a request that waits, are behind.
func (b *bench) webCurrent(ctx context.Context, round int) error {
	return b.withSite(ctx, "", "bellhop", func(s *session, pages *site) error {
		n := b.length(20, 60)
		seen := make(chan string, 1000)
		looking, stop := context.WithCancel(ctx)
		defer stop()
		wrong := make(chan error, 1)
		go func() {
			wrong <- pages.watch(looking, "/jobs?state=succeeded&state=held", func(f string) { seen <- f })
		}()
		shown := func(mark string) (time.Time, error) {
			for {
				select {
				case f := <-seen:
					if strings.Contains(f, mark) {
						return time.Now(), nil
					}
				case err := <-wrong:
					return time.Time{}, err
				case <-time.After(20 * time.Second):
					return time.Time{}, fmt.Errorf("%s is not on the page", mark)
				}
			}
		}
		var own, elsewhere, waits []float64
		for i := range n {
			var ended time.Time
			mark := fmt.Sprintf("own.%d.", i)
			var id int64
			if err := s.conn.QueryRow(ctx, "insert into bellhop.jobqueue (type, args, key) values ('noop', 'x', $1) returning id", mark).Scan(&id); err != nil {
				return err
			}
			s.done++
			a, err := pages.ask(ctx, "GET", fmt.Sprintf("/api/v1/jobs/%d/wait", id), "")
			if err != nil {
				return err
			}
			answered := time.Now()
			var outcome struct{ State string }
			err = errors.Join(json.NewDecoder(a.Body).Decode(&outcome), a.Body.Close())
			if err != nil || outcome.State != "succeeded" {
				return fmt.Errorf("job %d is %s: %w", id, outcome.State, err)
			}
			at, err := shown(mark)
			if err != nil {
				return err
			}
			if err := s.conn.QueryRow(ctx, "select ended_at from bellhop.jobqueue where id = $1", id).Scan(&ended); err != nil {
				return err
			}
			waits, own = append(waits, answered.Sub(ended).Seconds()*1000), append(own, at.Sub(ended).Seconds()*1000)
			time.Sleep(2 * time.Second) // a viewer sees one change now and then
			// A change by SQL, of which no instance tells.
			mark = fmt.Sprintf("elsewhere.%d.", i)
			if _, err := s.conn.Exec(ctx, "insert into bellhop.jobqueue (type, key, held) values ('none', $1, true)", mark); err != nil {
				return err
			}
			acked := time.Now()
			if at, err = shown(mark); err != nil {
				return err
			}
			elsewhere = append(elsewhere, at.Sub(acked).Seconds()*1000)
			time.Sleep(2 * time.Second)
		}
		b.note(round, webChange, "bellhop", percentile(own, 0.5), "ms")
		b.note(round, webElsewhere, "bellhop", percentile(elsewhere, 0.5), "ms")
		b.note(round, webWait, "bellhop", percentile(waits, 0.5), "ms")
		stop()
		var bytes int64
		for _, path := range []string{"/", "/static/style.css", "/static/page.js", "/static/bell.svg"} {
			_, size, err := pages.first(ctx, path)
			if err != nil {
				return err
			}
			bytes += size
		}
		b.note(round, webSize, "bellhop", float64(bytes), "")
		return nil
	})
}
