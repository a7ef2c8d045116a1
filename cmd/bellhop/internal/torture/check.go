package torture

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// An invariant is a promise that each history is held against. docs/reliability.md says them in full.
type invariant int

const (
	ends       invariant = iota // every committed job ends, as planned
	proven                      // a success has a run that ended under the fence of its row, once
	alone                       // no two processes have one job at once
	counted                     // fences grow; attempts count only where it is promised
	ordered                     // a job begins after the jobs that it needs have ended
	unlocked                    // no two processes have locks that exclude each other
	exactly                     // each event starts one run; each key is one job
	whole                       // each item of a query ran, and the counts are right
	quiet                       // nothing is left behind when the work is over
	recovered                   // the queue works again within the promised time
	invariants                  // how many there are
)

// inWords are short forms for the head of a table.
var inWords = [invariants]string{"ends", "proven", "alone", "counted", "ordered", "locks", "events", "items", "quiet", "recovery"}

func (i invariant) String() string { return inWords[i] }

// violation is an invariant that does not hold.
type violation struct {
	what invariant
	says string
}

// row is a job as the queue has it.
type row struct {
	id                  int64
	typ, state          string
	fence               int64
	attempt             int
	args, msq, key      string
	total, done, failed int64
	problem, waits      string
	successes           int
	token               int64 // from its arguments; 0: a query
	batch               int64 // of a query
	_                   struct{}
}

// evidence is all that a history leaves behind: what clients were told, what witnesses wrote, what the queue has.
type evidence struct {
	told     *expectation
	journal  []entry
	rows     []row
	runs     map[int64]int    // of each event
	ledger   map[int64]int    // how often an app that takes jobs has written each token, with the job's outcome
	written  map[int64]string // outcomes in the rows of an attached table
	seen     map[int64]int64  // jobs that a client saw succeed, and under which fence
	kills    int              // agents that a fault killed: each may cost an attempt
	lostTail bool             // a server was promoted that lacked the newest commits
	left     []string         // processes and rows that are left after the end
	took     time.Duration    // until the queue worked again
	idle     time.Duration    // how long the first job after a rest took
	promise  time.Duration
}

// check holds a history against each invariant.
func check(e evidence) (found []violation) {
	c := &checker{evidence: e, byToken: map[int64]row{}, finished: map[claimed]entry{}}
	for _, r := range e.rows {
		if r.token != 0 {
			c.byToken[r.token] = r
		}
	}
	for _, line := range e.journal {
		if line.what == done {
			c.finished[claimed{line.token, line.job, line.fence}] = line
		}
	}
	for _, rule := range []func(){c.ends, c.proven, c.witnessed, c.counted, c.ordered, c.exactly, c.whole, c.stepwise,
		c.families, c.booked, c.after} {
		rule()
	}
	return c.found
}

// claimed names one run of a token.
type claimed struct{ token, job, fence int64 }

type checker struct {
	evidence
	byToken  map[int64]row
	finished map[claimed]entry
	found    []violation
	many     [invariants]int
}

// mostSaid bounds what is said of one invariant in one history.
const mostSaid = 5

func (c *checker) say(what invariant, format string, args ...any) {
	if c.many[what]++; c.many[what] <= mostSaid {
		c.found = append(c.found, violation{what, fmt.Sprintf(format, args...)})
	}
}

// ends: every job that was committed is there and has succeeded; the work never fails but as planned.
func (c *checker) ends() {
	for _, n := range slices.Sorted(maps.Keys(c.told.committed)) {
		if _, there := c.byToken[n]; !there && !c.lostTail {
			c.say(ends, "the job of token %d (%s) was committed, and has no row", n, c.told.committed[n])
		}
	}
	batches := map[int64]bool{}
	for _, r := range c.rows {
		batches[r.batch] = true
		if c.told.dies[r.token] {
			if r.state != "failed" || r.attempt != dyingAttempts {
				c.say(ends, "job %d (token %d) always fails; it is %s after attempt %d of %d", r.id, r.token, r.state, r.attempt,
					dyingAttempts)
			}
		} else if r.state != "succeeded" && !(r.state == "quarantined" && c.kills >= 3) {
			c.say(ends, "job %d (%s, token %d) is %s after attempt %d: %s%s", r.id, r.typ, r.token, r.state, r.attempt,
				r.problem, r.waits)
		}
	}
	for n := range c.told.batches {
		if !batches[n] && !c.lostTail {
			c.say(ends, "the query of batch %d was committed, and has no row", n)
		}
	}
	for _, refused := range c.told.refused {
		c.say(ends, "a client was refused: %s", refused)
	}
}

// proven: each success has exactly one attempt that succeeded, and a run that ended under its fence.
func (c *checker) proven() {
	last := map[int64]entry{}
	for _, line := range c.journal {
		if line.what == begun || line.what == overlapped {
			last[line.token] = line
		}
	}
	for _, r := range c.rows {
		if r.state != "succeeded" {
			continue
		}
		if r.successes != 1 {
			c.say(proven, "job %d has %d attempts that succeeded", r.id, r.successes)
		}
		if r.token == 0 {
			continue
		}
		if _, ok := c.finished[claimed{r.token, r.id, r.fence}]; !ok {
			c.say(proven, "job %d (token %d) has succeeded under fence %d, and no agent ended it under that fence", r.id, r.token, r.fence)
		} else if fence, was := c.seen[r.id]; was && fence != r.fence && !c.lostTail {
			c.say(proven, "job %d (token %d) was seen to have succeeded under fence %d, and has succeeded under %d", r.id, r.token, fence,
				r.fence)
		} else if l := last[r.token]; l.fence != r.fence && !c.lostTail {
			c.say(proven, "job %d (token %d) has succeeded under fence %d, and was begun again under %d", r.id, r.token, r.fence, l.fence)
		}
	}
}

// witnessed: what the kernel saw at the moment itself.
func (c *checker) witnessed() {
	for _, line := range c.journal {
		switch line.what {
		case overlapped:
			c.say(alone, "token %d was begun (job %d, fence %d) while another process did it", line.token, line.job, line.fence)
		case clashed:
			c.say(unlocked, "token %d began (job %d, fence %d) while another process had its lock", line.token, line.job, line.fence)
		}
	}
}

// counted: fences grow from run to run, and attempts grow only by plan or by an agent's death.
func (c *checker) counted() {
	fences := map[[2]int64]int64{}
	for _, line := range c.journal {
		if line.what != begun && line.what != overlapped {
			continue
		}
		run := [2]int64{line.token, line.job}
		if before, again := fences[run]; again && line.fence <= before && line.token < firstItem {
			c.say(counted, "token %d (job %d) was begun under fence %d after fence %d", line.token, line.job, line.fence, before)
		}
		fences[run] = line.fence
	}
	for _, r := range c.rows {
		most := 1 + c.told.fails[r.token] + c.kills
		if c.told.dies[r.token] {
			most = dyingAttempts
		}
		if r.attempt > most {
			c.say(counted, "job %d (token %d) has %d attempts; its plan and the agents killed explain %d", r.id, r.token, r.attempt, most)
		}
	}
}

// ordered: a job begins after the accepted end of the job that it needs, and not before its time.
func (c *checker) ordered() {
	begins := map[int64]entry{}
	for _, line := range c.journal {
		if _, seen := begins[line.token]; !seen && line.what == begun {
			begins[line.token] = line
		}
	}
	for n, b := range begins {
		if early := c.told.notBefore[n] - b.at; early > 0 {
			c.say(ordered, "token %d began %s before its time", n, time.Duration(early))
		}
	}
	needs := maps.Clone(c.told.needs)
	for id := range c.runs {
		needs[stepB+id] = stepA + id
	}
	for n, first := range needs {
		r, there := c.byToken[first]
		b, began := begins[n]
		if !there || !began || r.state != "succeeded" {
			continue
		}
		if end, ok := c.finished[claimed{first, r.id, r.fence}]; ok && b.at < end.at && !c.lostTail {
			c.say(ordered, "token %d began %s before token %d, which it needs, had ended", n, time.Duration(end.at-b.at), first)
		}
	}
}

// exactly: each committed event has one run, each key one job, and each attached row its outcome.
func (c *checker) exactly() {
	for _, id := range slices.Sorted(maps.Keys(c.told.events)) {
		if n, there := c.runs[id]; (there || !c.lostTail) && n != 1 {
			c.say(exactly, "the row %d started %d runs", id, n)
		}
	}
	for n := range c.told.attached {
		if status, there := c.written[n]; (there || !c.lostTail) && status != "succeeded" {
			c.say(exactly, "the attached row %d has the outcome %q", n, status)
		}
	}
	jobs := map[string]int{}
	for _, r := range c.rows {
		jobs[r.key]++
	}
	for key, ids := range c.told.keys {
		if !c.lostTail && (jobs[key] != 1 || len(slices.Compact(ids)) != 1) {
			c.say(exactly, "key %s is that of %d jobs; callers were told %d", key, jobs[key], ids)
		}
	}
}

// ran are the tokens of work that has ended.
func (c *checker) ran() map[int64]bool {
	tokens := map[int64]bool{}
	for run := range c.finished {
		tokens[run.token] = true
	}
	return tokens
}

// whole: each item of a query that succeeded ran under its fence, or an earlier one, and the counts are right.
func (c *checker) whole() {
	ran := c.ran()
	for _, r := range c.rows {
		if r.batch == 0 || r.state != "succeeded" {
			continue
		}
		items := c.told.items(r.batch)
		if r.total != items || r.done != items || r.failed != 0 {
			c.say(whole, "query %d of %d items has %d, of which %d are done and %d failed", r.id, items, r.total, r.done, r.failed)
		}
		for i := range items {
			if !ran[firstItem+r.batch*mostItems+i] {
				c.say(whole, "item %d of query %d never ran to its end", i, r.id)
			}
		}
	}
}

// after: nothing is left, and the queue worked again in time.
func (c *checker) after() {
	for _, what := range c.left {
		c.say(quiet, "%s", what)
	}
	if c.idle > c.promise {
		c.say(recovered, "the first job after a rest ended after %s; promised: %s", c.idle.Round(time.Millisecond), c.promise)
	}
	if c.took > c.promise {
		c.say(recovered, "the first job after the fault ended after %s; promised: %s", c.took.Round(time.Millisecond),
			c.promise)
	}
}

// known fills in what the text of a row says.
func (r *row) known() {
	if name, ok := strings.CutPrefix(r.key, "torture_row/"); ok {
		r.token, _ = strconv.ParseInt(name, 10, 64)
		return
	}
	if r.msq == "" {
		r.token = parseTask(r.args).token
		return
	}
	if _, rest, ok := strings.Cut(r.msq, "batch = "); ok {
		number, _, _ := strings.Cut(rest, " ")
		r.batch, _ = strconv.ParseInt(number, 10, 64)
	}
}
