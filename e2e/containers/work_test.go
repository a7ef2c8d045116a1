package containers

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// agent is what does the work of these tests. It keeps a book that does not
// hang on what scheduler and database believe: a line when it begins and when
// it ends, and a lock of the kernel on its job as long as it lives. Two of them
// with one job are seen in the very moment, across containers, since all share
// this machine's kernel.
const agent = `#!/bin/bash
exec 9>>/shared/lock.$BELLHOP_JOB_ID
what=start; flock -n 9 || what=overlap
echo "$what $BELLHOP_JOB_ID $HOSTNAME" >>/shared/book
if [ "$1" = hold ]; then while [ ! -e /shared/go ]; do sleep 0.05; done; else sleep "$1"; fi
echo "end $BELLHOP_JOB_ID $HOSTNAME" >>/shared/book
`

// work is the configuration of that agent.
const work = "agents:\n  - {type: work, command: [/shared/agent], mode: exec}\n"

// local is work with so many slots in the scheduler's own container.
func (b *bed) local(slots int) string {
	b.t.Helper()
	b.agent()
	return fmt.Sprintf("hosts:\n  - {name: local, slots: %d}\n", slots) + work
}

func (b *bed) agent() {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, "agent"), []byte(agent), 0o755); err != nil {
		b.t.Fatal(err)
	}
}

// letGo ends all that is held, and all that is still to come.
func (b *bed) letGo() {
	if err := os.WriteFile(filepath.Join(b.dir, "go"), nil, 0o644); err != nil {
		b.t.Error(err)
	}
}

// entry is a line of the book.
type entry struct{ what, job, where string }

func (b *bed) book() (list []entry) {
	b.t.Helper()
	file, err := os.Open(filepath.Join(b.dir, "book"))
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = file.Close() }() // it was only read
	lines := bufio.NewReader(file)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			break // also where the last line is there in part
		}
		var e entry
		if _, err := fmt.Sscan(line, &e.what, &e.job, &e.where); err != nil {
			b.t.Fatalf("the book has a line %q", line)
		}
		list = append(list, e)
	}
	return list
}

// begun is how many jobs were begun at a place.
func (b *bed) begun(where string) (n int) {
	b.t.Helper()
	for _, e := range b.book() {
		if e.what != "end" && e.where == where {
			n++
		}
	}
	return n
}

// alive is how many jobs have a living agent.
func (b *bed) alive() (n int) {
	b.t.Helper()
	locks, err := filepath.Glob(filepath.Join(b.dir, "lock.*"))
	if err != nil {
		b.t.Fatal(err)
	}
	for _, path := range locks {
		file, err := os.Open(path)
		if err != nil {
			b.t.Fatal(err)
		}
		if syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) != nil {
			n++
		}
		_ = file.Close()
	}
	return n
}

// waitBegun waits until so many jobs were begun at a place.
func (b *bed) waitBegun(where string, n int) {
	b.t.Helper()
	b.eventually(fmt.Sprintf("%d jobs are begun on %s", n, where),
		func() bool { b.t.Helper(); return b.begun(where) >= n })
}

// waitDead waits until nothing works any more, and gives how long that took.
func (b *bed) waitDead() time.Duration {
	b.t.Helper()
	began := time.Now()
	b.eventually("the agents are dead", func() bool { b.t.Helper(); return b.alive() == 0 })
	return time.Since(began)
}

// submit submits n jobs that take so long.
func (b *bed) submit(n int, takes string) {
	b.t.Helper()
	if _, err := b.query.Exec(b.t.Context(), "insert into bellhop.jobqueue (type, args) select 'work', $1 from generate_series(1, $2)", takes, n); err != nil {
		b.t.Fatal(err)
	}
}

// waitAll waits until every job is over, and checks what must hold whatever
// was lost on the way: each of n has succeeded, none had two agents at a time,
// and nobody's loss counts against a job.
func (b *bed) waitAll(n int) {
	b.t.Helper()
	var left, good, counted int
	defer func() {
		if b.t.Failed() {
			var rows string
			_ = b.query.QueryRow(b.t.Context(), "select coalesce(string_agg(j::text, e'\n'), '') from (select * from bellhop.jobqueue where state <> 'succeeded' or attempt <> 1 limit 5) j").Scan(&rows)
			b.t.Logf("%d are not over, %d succeeded, %d count an attempt or a death; among them\n%s", left, good, counted, rows)
		}
	}()
	b.eventually("every job is over", func() bool {
		b.t.Helper()
		err := b.query.QueryRow(b.t.Context(),
			`select count(*) filter (where state not in ('succeeded', 'failed', 'cancelled', 'quarantined')),
			count(*) filter (where state = 'succeeded'), count(*) filter (where attempt <> 1 or deaths <> 0) from bellhop.jobqueue`).Scan(&left, &good, &counted)
		if err != nil {
			b.t.Fatal(err)
		}
		return left == 0
	})
	if good != n || counted != 0 {
		b.t.Errorf("%d of %d succeeded, %d count what was lost as theirs", good, n, counted)
	}
	ends := map[string]int{}
	for _, e := range b.book() {
		switch e.what {
		case "overlap":
			b.t.Errorf("job %s was in two hands at the same time, the second on %s", e.job, e.where)
		case "end":
			ends[e.job]++
		}
	}
	if len(ends) != n {
		b.t.Errorf("%d jobs were worked on to the end, of %d", len(ends), n)
	}
}

// within checks that a recovery took no longer than promised; the rest is for
// a busy machine.
func (b *bed) within(what string, took, promise time.Duration) {
	b.t.Helper()
	b.t.Logf("%s after %s; promised: %s", what, took.Round(10*time.Millisecond), promise)
	if took > promise+10*time.Second {
		b.t.Errorf("%s only after %s; promised: %s", what, took, promise)
	}
}
