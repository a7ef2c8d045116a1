package simulation

import (
	"maps"
	"slices"
	"sync"
	"time"

	"bellhop/scheduler"
)

// ending is how work on a line ended, as the agent knows it.
type ending string

const (
	works     ending = "works"
	succeeded ending = "succeeded"
	failed    ending = "failed"
	died      ending = "died"
	killed    ending = "killed"
)

// entry is one piece of work that an agent did.
type entry struct {
	scheduler.Claim
	attempt    int
	node       string
	from, till time.Time
	how        ending
	lost       bool // the server that gave the claim lost it in a failover
}

// witness writes down what agents did, by the name of the job, beside the database.
type witness struct {
	w    *world
	mu   sync.Mutex
	book map[string][]*entry
}

// forget marks the runs of a job whose claims the promoted server does not have: the row's fence is older.
func (b *witness) forget(j row) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.book[j.name] {
		e.lost = e.lost || e.Fence > j.fence
	}
}

func newWitness(w *world) *witness { return &witness{w: w, book: map[string][]*entry{}} }

// begin writes that an agent takes up a line, and sees what other agents do just now.
func (b *witness) begin(p *process, line scheduler.Line) plan {
	b.w.tell("%s/%s begins %s: job %d under %d, attempt %d", p.n.name, p.name, line.Args, line.Job, line.Fence,
		line.Attempt)
	b.mu.Lock()
	defer b.mu.Unlock()
	e := &entry{Claim: line.Claim, attempt: line.Attempt, node: p.n.name, from: time.Now(), how: works}
	for _, other := range b.book[line.Args] {
		if other.how == works {
			b.w.violated("alone", "%s is done by %s under %d and by %s under %d", line.Args, other.node, other.Fence,
				e.node, e.Fence)
		}
		if other.Fence >= e.Fence {
			b.w.violated("fences grow", "%s begins under %d after %d", line.Args, e.Fence, other.Fence)
		}
	}
	b.book[line.Args] = append(b.book[line.Args], e)
	return b.w.planOf(line.Args)
}

func (b *witness) end(p *process, line scheduler.Line, how ending) {
	b.w.tell("%s/%s: %s %s (job %d under %d)", p.n.name, p.name, line.Args, how, line.Job, line.Fence)
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.book[line.Args] {
		if e.Claim == line.Claim && e.how == works {
			e.how, e.till = how, time.Now()
		}
	}
}

func (w *world) planOf(name string) plan {
	for _, p := range w.plans {
		if p.name == name {
			return p
		}
	}
	return plan{name: name, takes: time.Second}
}

// check holds the rows against what agents did. It is made when all has ended.
func (w *world) check() {
	rows := run(w.server, false, (*server).sorted)
	byName := map[string]row{}
	for _, j := range rows {
		byName[j.name] = j
	}
	for _, p := range w.plans {
		j, there := byName[p.name]
		switch {
		case !there && !w.gone[p.name]:
			w.violated("no job is lost", "%s was committed, and there is no such row", p.name)
		case there && !j.state.Final():
			w.violated("everything ends", "%s is %s, instance %d", p.name, j.state, j.instance)
		case there:
			w.checkJob(p, j, byName)
		}
	}
	for name, list := range w.witness.book {
		for _, e := range list {
			if e.how == works {
				w.violated("quiet", "%s is still done by %s", name, e.node)
			}
		}
	}
}

func (w *world) checkJob(p plan, j row, rows map[string]row) {
	book := w.witness.book[p.name]
	state, attempt := p.expects()
	unmet := p.needs >= 0 && j.needs != 0 && rows[w.plans[p.needs].name].state != scheduler.Succeeded
	switch {
	case p.cancelled > 0 && j.state == scheduler.Cancelled:
		return
	case unmet:
		state, attempt = scheduler.Failed, 0
	}
	if j.state != state || j.attempt != attempt {
		w.violated("attempts are counted right", "%s is %s after %d attempts, not %s after %d", p.name, j.state, j.attempt,
			state, attempt)
	}
	if unmet {
		return
	}
	proof := map[scheduler.JobState]ending{
		scheduler.Succeeded:   succeeded,
		scheduler.Failed:      failed,
		scheduler.Quarantined: died,
	}[j.state]
	if p.fails == 0 && j.state == scheduler.Failed {
		proof = died
	}
	for i, e := range book {
		if e.Fence == j.fence && e.Job == j.id && e.how == proof && e.attempt == j.attempt {
			if slices.ContainsFunc(book[i+1:], func(later *entry) bool { return !later.lost }) {
				w.violated("an outcome is of its run", "%s was begun again after its last attempt", p.name)
			}
			if p.needs >= 0 && j.needs != 0 {
				w.checkOrder(p, e)
			}
			return
		}
	}
	w.violated("an outcome is of its run", "%s is %s under %d, and no agent ended it so", p.name, j.state, j.fence)
}

// checkOrder: what a job needs has ended before it begins.
func (w *world) checkOrder(p plan, e *entry) {
	for _, other := range w.witness.book[w.plans[p.needs].name] {
		if other.how == succeeded && !other.till.After(e.from) {
			return
		}
	}
	w.violated("order", "%s began before %s had succeeded", p.name, w.plans[p.needs].name)
}

// expects is how a job ends, whatever happens to instances and servers.
func (p plan) expects() (scheduler.JobState, int) {
	bad := p.deaths + p.fails
	switch {
	case p.deaths >= scheduler.QuarantineDeaths && p.most >= scheduler.QuarantineDeaths:
		return scheduler.Quarantined, scheduler.QuarantineDeaths
	case bad >= p.most && bad > 0:
		return scheduler.Failed, p.most
	}
	return scheduler.Succeeded, bad + 1
}

// acknowledged keeps in mind what the database has said that it has.
func (w *world) acknowledged(records []scheduler.Record, stale []scheduler.Claim) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range records {
		if r := &records[i]; r.Kind == scheduler.RecordSettle && !slices.Contains(stale, r.Claim) {
			w.told[r.Claim] = r.Line().Args
		}
	}
}

// forgotten looks for outcomes that were acknowledged and that a crash has undone. A standby may lack them.
func (w *world) forgotten(promoted bool) {
	w.mu.Lock()
	told := maps.Clone(w.told)
	if promoted {
		w.told = map[scheduler.Claim]string{}
	}
	w.mu.Unlock()
	if promoted {
		return
	}
	for c, name := range told {
		if j := w.row(c.Job); j.held() && j.fence == c.Fence || j.fence < c.Fence {
			w.violated("an acknowledged outcome stays", "%s is %s under %d", name, j.state, j.fence)
		}
	}
}
