package position

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"bellhop/scheduler"
)

// aRow is a ready job of a queue that is played.
type aRow struct {
	key     Key
	tx      int
	claimed bool
	again   bool // it was claimed before
}

// aQueue plays transactions that insert, and claims, as PostgreSQL does both. Each claim of everything walks long.
type aQueue struct {
	luck *rand.Rand
	rows []*aRow
	open map[int]bool // transactions under way
	next int          // the number of the next transaction
	ring uint64
	at   time.Time
}

// sees reports whether a statement that begins now sees a row that is ready.
func (q *aQueue) sees(r *aRow) bool { return !r.claimed && !q.open[r.tx] }

// snapshot is pg_current_snapshot.
func (q *aQueue) snapshot() string {
	var under []string
	for tx := range q.open {
		under = append(under, strconv.Itoa(tx))
	}
	return fmt.Sprintf("1:%d:%s", q.next, strings.Join(under, ","))
}

// happens has one transaction begin, insert, or commit, which rings.
func (q *aQueue) happens() {
	switch open := slices.Sorted(func(yield func(int) bool) {
		for tx := range q.open {
			if !yield(tx) {
				return
			}
		}
	}); {
	case len(open) == 0 || q.luck.IntN(3) == 0:
		q.open[q.next] = true
		q.next++
	case q.luck.IntN(3) > 0:
		key := Key{Priority: int16(q.luck.IntN(3)), ID: scheduler.JobID(len(q.rows) + 1)}
		q.rows = append(q.rows, &aRow{key: key, tx: open[q.luck.IntN(len(open))]})
	default:
		delete(q.open, open[q.luck.IntN(len(open))])
		q.ring++
	}
}

// claim is claim.sql, or claim_above.sql.
func (q *aQueue) claim(f From, most int) (jobs []scheduler.Job) {
	var found []*aRow
	for _, r := range q.rows {
		above := f.Above == nil
		if !above {
			xmax, _ := strconv.Atoi(f.Above.Xmax)
			above = (r.tx >= xmax || slices.Contains(f.Above.InProgress, strconv.Itoa(r.tx))) && !f.Upto.before(r.key)
		}
		if q.sees(r) && above && f.Behind.before(r.key) {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b *aRow) int { return inOrder(a.key, b.key) })
	for _, r := range found[:min(most, len(found))] {
		r.claimed = true
		var j scheduler.Job
		j.Type, j.Priority, j.Claim.Job = "cat", int(r.key.Priority), r.key.ID
		jobs = append(jobs, j)
	}
	return jobs
}

// inOrder compares as the order of claims does.
func inOrder(a, b Key) int {
	return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.ID, b.ID))
}

// limit is how many jobs the statements bring at the most.
func limit(d scheduler.Demand) int { return min(d.Types[0].Limit, d.Total) }

// Law: while all that becomes ready rings, a demand brings the most urgent ready jobs: as many as it asks for, or all.
// Neither open transactions nor tails and snapshots change that.
func TestPosition_NothingIsMissedAndNothingOvertakes(t *testing.T) {
	t.Parallel()
	ways := map[string]int{}
	for seed := range uint64(3000) {
		q := &aQueue{luck: rand.New(rand.NewPCG(seed, 0)), open: map[int]bool{}, next: 10, at: positionStart}
		p := New()
		for range 120 {
			for range q.luck.IntN(6) {
				q.happens()
			}
			d := catDemand(1 + q.luck.IntN(4))
			d.Ring, d.Total = q.ring, 1+q.luck.IntN(6)
			want := limit(d)
			var ready []Key
			for _, r := range q.rows {
				if q.sees(r) {
					ready = append(ready, r.key)
				}
			}
			slices.SortFunc(ready, inOrder)
			var got []Key
			for rest, more := d, true; more; {
				f := p.From(rest, q.at)
				ways[fmt.Sprintf("tail %t, before it %t, above %t", f.tail, f.before, f.Above != nil && !f.before)]++
				var taken Taken
				if f.Snapshot {
					taken = Taken{Text: q.snapshot(), Took: time.Microsecond}
				}
				jobs := q.claim(f, limit(rest))
				for _, j := range jobs {
					got = append(got, Key{int16(j.Priority), j.Claim.Job})
				}
				began := q.at
				if q.at = q.at.Add(100 * time.Microsecond); f.Above == nil && !f.tail {
					q.at = q.at.Add(50 * time.Millisecond)
				}
				rest, more = p.Next(rest, f, taken, jobs, began, q.at)
			}
			if ready = ready[:min(want, len(ready))]; !slices.Equal(got, ready) {
				t.Fatalf("seed %d: it brings %v, and %v are the most urgent", seed, got, ready)
			}
		}
	}
	if len(ways) != 4 {
		t.Errorf("claims began in %d of 4 ways: %v", len(ways), ways)
	}
}
