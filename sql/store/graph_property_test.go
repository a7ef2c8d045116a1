package store

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"bellhop/scheduler"
)

// need is a dependency in the model.
type need struct {
	job, needs scheduler.JobID
}

// graphModel is a graph of jobs as the contract has it, beside the one in the database.
type graphModel struct {
	*rapid.T
	o         *env
	state     map[scheduler.JobID]scheduler.JobState
	onFailure map[scheduler.JobID]string
	wanted    map[need][]string
	met       map[need]bool
	ran       map[scheduler.JobID]bool // it has begun, now or before
}

// settle brings the model to rest: dependencies on what has ended are met or not, and jobs follow.
func (m *graphModel) settle() {
	for changed := true; changed; {
		changed = false
		for n := range m.wanted {
			changed = m.meet(n) || changed
		}
		for job, state := range m.state {
			if state != scheduler.Blocked && state != scheduler.Ready {
				continue
			}
			want := scheduler.Ready
			for n, wanted := range m.wanted {
				if n.job != job || m.met[n] {
					continue
				}
				if want == scheduler.Ready {
					want = scheduler.Blocked
				}
				other, exists := m.state[n.needs]
				if bad := !exists || other.Final() && !slices.Contains(wanted, string(other)); bad && m.onFailure[job] == "fail" {
					want = scheduler.Failed
				}
			}
			if want != state {
				m.state[job], changed = want, true
			}
		}
	}
}

// meet says that a need is met, if it is now and was not before. A job that has ended has no needs.
func (m *graphModel) meet(n need) (news bool) {
	other, exists := m.state[n.needs]
	good := exists && other.Final() && slices.Contains(m.wanted[n], string(other))
	news = !m.met[n] && !m.state[n.job].Final() && (good || m.onFailure[n.job] == "run" && (!exists || other.Final()))
	m.met[n] = m.met[n] || news
	return news
}

func (m *graphModel) some(states ...scheduler.JobState) scheduler.JobID {
	var list []scheduler.JobID
	for _, id := range slices.Sorted(maps.Keys(m.state)) {
		if slices.Contains(states, m.state[id]) {
			list = append(list, id)
		}
	}
	if list == nil {
		m.Skip("no such job")
	}
	return rapid.SampledFrom(list).Draw(m.T, "job")
}

func (m *graphModel) submit(*rapid.T) {
	how, held := rapid.SampledFrom(
		[]string{"fail", "fail", "block", "run"}).Draw(m.T, "on_failure"), rapid.Bool().Draw(m.T, "held")
	id := m.o.insert("type, on_failure, held", fmt.Sprintf("'cat', '%s', %v", how, held))
	m.state[id], m.onFailure[id] = scheduler.Ready, how
	if held {
		m.state[id] = scheduler.Held
	}
}

// reaches tells whether a job waits for another, by way of dependencies that are not met.
func (m *graphModel) reaches(from, to scheduler.JobID) bool {
	seen := map[scheduler.JobID]bool{}
	stack := []scheduler.JobID{from}
	for len(stack) > 0 {
		id := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if id == to {
			return true
		}
		if seen[id] {
			continue
		}
		seen[id] = true
		for n := range m.wanted {
			if n.job == id && !m.met[n] {
				stack = append(stack, n.needs)
			}
		}
	}
	return false
}

func (m *graphModel) depend(*rapid.T) {
	all := []scheduler.JobState{
		scheduler.Held,
		scheduler.Blocked,
		scheduler.Ready,
		scheduler.Succeeded,
		scheduler.Failed,
		scheduler.Cancelled,
	}
	n := need{m.some(all...), m.some(all...)}
	wanted := rapid.SampledFrom(
		[][]string{{"succeeded"}, {"succeeded"}, {"failed", "cancelled"}, {"succeeded", "failed"}}).Draw(m.T, "wanted")
	if _, there := m.wanted[n]; there {
		m.Skip("it is there already")
	}
	started, was := m.o.column(n.job, "started_at") != "", m.state[n.job]
	refuse := n.job == n.needs || was.Final() || started
	if !refuse {
		// What the new dependency settles at once is on no cycle: a job that fails of it may be what another wanted.
		state, met := maps.Clone(m.state), maps.Clone(m.met)
		m.wanted[n] = wanted
		m.settle()
		if refuse = !m.met[n] && m.reaches(n.needs, n.job); refuse {
			m.state, m.met = state, met
			delete(m.wanted, n)
		}
	}
	_, err := m.o.conn.Exec(m.o.Context(), "insert into bellhop.dependency (job, needs, wanted) values ($1, $2, $3)",
		int64(n.job), int64(n.needs), wanted)
	if refuse != (err != nil) {
		m.Fatalf("%v, a job that was %s (started: %v) on one that is %s: %v", n, was, started, m.state[n.needs], err)
	}
}

// run claims all that is ready, and ends every one of it in some way.
func (m *graphModel) run(*rapid.T) {
	var want []scheduler.JobID
	for _, id := range slices.Sorted(maps.Keys(m.state)) {
		if m.state[id] == scheduler.Ready {
			want = append(want, id)
		}
	}
	jobs := m.o.claim(demand(1000))
	if !slices.Equal(ids(jobs), want) {
		m.Fatalf("claimed %v, want %v", ids(jobs), want)
	}
	var records []scheduler.Record
	for _, j := range jobs {
		end := rapid.SampledFrom([]scheduler.JobState{scheduler.Succeeded, scheduler.Succeeded, scheduler.Failed}).Draw(m.T, "end")
		m.state[j.Claim.Job], m.ran[j.Claim.Job] = end, true
		records = append(records,
			settle(j, scheduler.Result{Child: "cat.1", Ended: time.Now()}, scheduler.Verdict{State: end, Counts: true}))
	}
	m.o.mustWrite(records...)
	m.settle()
}

func (m *graphModel) cancel(*rapid.T) {
	id := m.some(scheduler.Held, scheduler.Blocked, scheduler.Ready)
	m.o.exec("select bellhop.cancel($1)", int64(id))
	m.state[id] = scheduler.Cancelled
	m.settle()
}

func (m *graphModel) retry(*rapid.T) {
	id := m.some(scheduler.Succeeded, scheduler.Failed, scheduler.Cancelled)
	m.o.exec("select bellhop.retry($1)", int64(id))
	was := m.state[id]
	m.state[id] = scheduler.Ready
	for n := range m.wanted { // what it needs may have ended well while it was over: it does not wait for that
		if n.job == id {
			m.meet(n)
		}
	}
	if was != scheduler.Succeeded {
		m.retryAlong(id)
	}
	m.settle()
}

// ahead lists the jobs that these wait for, by way of others too.
func (m *graphModel) ahead(of map[scheduler.JobID]bool) map[scheduler.JobID]bool {
	ahead := map[scheduler.JobID]bool{}
	for grown := true; grown; {
		grown = false
		for n := range m.wanted {
			if !m.met[n] && (of[n.job] || ahead[n.job]) && !ahead[n.needs] {
				ahead[n.needs], grown = true, true
			}
		}
	}
	return ahead
}

// retryAlong: jobs that went by the outcome that is undone, and by theirs, are tried again. Jobs that wait, wait for it
// anew. A job that is needed by one of them stays as it is.
func (m *graphModel) retryAlong(root scheduler.JobID) {
	again := map[scheduler.JobID]bool{root: true}
	ahead := m.ahead(again)
	for grown := true; grown; {
		grown = false
		for n := range m.wanted {
			over := m.state[n.job] == scheduler.Succeeded || m.state[n.job] == scheduler.Failed
			if again[n.needs] && m.met[n] && over && m.ran[n.job] && !again[n.job] && !ahead[n.job] {
				again[n.job], grown = true, true
			}
		}
	}
	ahead = m.ahead(again)
	maps.DeleteFunc(again, func(id scheduler.JobID, _ bool) bool { return id != root && ahead[id] })
	for n := range m.wanted {
		waits := m.state[n.job] == scheduler.Held || m.state[n.job] == scheduler.Blocked
		if again[n.needs] && n.job != root && !ahead[n.job] && (again[n.job] || waits) {
			m.met[n] = false
		}
	}
	for id := range again {
		m.state[id] = scheduler.Ready
	}
}

func (m *graphModel) release(*rapid.T) {
	id := m.some(scheduler.Held, scheduler.Blocked, scheduler.Ready, scheduler.Succeeded)
	m.o.exec("select bellhop.release($1)", int64(id))
	free := map[scheduler.JobID]bool{id: true}
	for grown := true; grown; {
		grown = false
		for n := range m.wanted {
			if free[n.needs] && !free[n.job] {
				free[n.job], grown = true, true
			}
		}
	}
	for id := range free {
		if m.state[id] == scheduler.Held {
			m.state[id] = scheduler.Ready
		}
	}
	m.settle()
}

func (m *graphModel) remove(*rapid.T) {
	id := m.some(scheduler.Succeeded, scheduler.Failed, scheduler.Cancelled, scheduler.Held)
	m.o.exec("delete from bellhop.jobqueue where id = $1", int64(id))
	was := m.state[id]
	delete(m.state, id)
	for n, wanted := range m.wanted {
		if n.job == id || n.needs == id && (m.met[n] || slices.Contains(wanted, string(was))) {
			delete(m.wanted, n)
			delete(m.met, n)
		}
	}
	m.o.due()
	m.settle()
}

func (m *graphModel) check(*rapid.T) {
	if rapid.Bool().Draw(m.T, "look again") { // whenever the keeper does, it changes nothing that can be seen
		m.o.due()
	}
	rows, err := m.o.conn.Query(m.o.Context(), `select j.id, j.state, coalesce(j.unmet, 0),
		(select count(*) from bellhop.dependency d where d.job = j.id and not d.met) from bellhop.jobqueue j`)
	if err != nil {
		m.Fatal(err)
	}
	defer rows.Close()
	n := 0
	for rows.Next() {
		var id scheduler.JobID
		var state scheduler.JobState
		var unmet, open int
		if err := rows.Scan((*int64)(&id), (*string)(&state), &unmet, &open); err != nil {
			m.Fatal(err)
		}
		if state != m.state[id] {
			m.Fatalf("job %d is %s, the model says %s", id, state, m.state[id])
		}
		if (state == scheduler.Held || state == scheduler.Blocked) && unmet != open ||
			state == scheduler.Ready && unmet != 0 {
			m.Fatalf("job %d, %s, counts %d unmet dependencies and has %d", id, state, unmet, open)
		}
		n++
	}
	if rows.Err() != nil || n != len(m.state) {
		m.Fatalf("%d rows, %d in the model (%v)", n, len(m.state), rows.Err())
	}
}

// Law: whatever graphs are built, in whatever order jobs are submitted, made to
// need each other, held, released, run, cancelled, retried and deleted, each is
// in the state that the contract says, and dependencies that would close a
// cycle are refused.
func TestGraph_AgreesWithTheModel(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	rapid.Check(t, func(t *rapid.T) {
		m := &graphModel{T: t, o: e, state: map[scheduler.JobID]scheduler.JobState{}, onFailure: map[scheduler.JobID]string{},
			wanted: map[need][]string{}, met: map[need]bool{}, ran: map[scheduler.JobID]bool{}}
		e.exec("truncate bellhop.jobqueue, bellhop.attempt_past, bellhop.log")
		t.Repeat(map[string]func(*rapid.T){
			"submit": m.submit, "submit more": m.submit, "depend": m.depend, "depend more": m.depend, "and more": m.depend,
			"run": m.run, "cancel": m.cancel, "retry": m.retry, "release": m.release, "delete": m.remove, "": m.check,
		})
	})
}
