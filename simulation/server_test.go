package simulation

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"bellhop/scheduler"
)

// row is a row of bellhop.jobqueue.
type row struct {
	id       scheduler.JobID
	name     string // args. Outside of the database a job is known by it: another job may get the id
	created  time.Time
	needs    scheduler.JobID // 0: none
	runAt    time.Time
	state    scheduler.JobState
	fence    scheduler.Fence
	attempt  int
	instance scheduler.InstanceID // 0: NULL
	most     int
	deaths   int
	lost     int
	stopping bool              // cancel_requested
	past     []scheduler.Fence // of bellhop.attempt_past. Never changed in place
}

func (j row) claim() scheduler.Claim { return scheduler.Claim{Job: j.id, Fence: j.fence} }

func (j row) held() bool { return j.state == scheduler.Running || j.state == scheduler.Assigned }

// member is a row of bellhop.instance.
type member struct {
	scheduler.Suspect
	lag, heartbeat time.Duration // heartbeat: when, since the server began
	live           bool
}

// server is a model of the database: rows, and what each statement makes of them. A statement takes no time, so two
// never overlap. What it must be right about is tested in oracle_test.go.
type server struct {
	mu        sync.Mutex
	clock     func() time.Time
	began     time.Time
	without   guard
	rows      map[scheduler.JobID]row
	members   map[scheduler.InstanceID]member
	seen      map[string]scheduler.Fence // bellhop.server_seen: the first floor of each
	sequences [2]sequence                // of jobs and instances
	// Unlogged tables: a crash empties them.
	asserted map[scheduler.InstanceID]bool
	era      scheduler.Era
	eraBegan time.Time
	// The log, and what of it a crash leaves.
	open     []func() // how to undo what the present statement has done
	commits  []commit
	name     string // system identifier and timeline
	life     int    // grows with each crash: connections end
	notify   func(channel, scheduler.InstanceID)
	happened func(was, is row)
	floor    func() scheduler.Fence // of an era that begins now
	skip     func(of int) int64     // how far a sequence skips ahead beyond 100,000
}

// sequence gives numbers. PostgreSQL logs 32 of them ahead; here none, so that more failovers give a number again.
type sequence struct{ last, logged int64 }

type commit struct {
	at   time.Time
	sync bool // it waited for the disk, and everything before it with it
	undo []func()
}

// channel is what a notification says.
type channel int

const (
	inserted channel = iota
	readied
	cancelRang
	dueRang
	beatRang
)

func newServer(clock func() time.Time) *server {
	s := &server{clock: clock, began: clock(), rows: map[scheduler.JobID]row{}, seen: map[string]scheduler.Fence{},
		members: map[scheduler.InstanceID]member{}, asserted: map[scheduler.InstanceID]bool{}, name: "server, timeline 1",
		notify: func(channel, scheduler.InstanceID) {}, happened: func(was, is row) {}}
	s.floor = func() scheduler.Fence { return scheduler.Fence(clock().UnixMilli()) }
	s.skip = func(int) int64 { return 0 }
	return s
}

// run carries out a statement; waits says that its commit waits for the disk.
func run[T any](s *server, waits bool, statement func(*server) T) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := statement(s)
	if len(s.open) > 0 {
		s.commits = append(s.commits, commit{s.clock(), waits, s.open})
		s.open = nil
	}
	return v
}

func put[K comparable, V any](s *server, table map[K]V, key K, v V) {
	old, had := table[key]
	s.open = append(s.open, func() {
		if delete(table, key); had {
			table[key] = old
		}
	})
	table[key] = v
}

func (s *server) set(j row) {
	was := s.rows[j.id]
	put(s, s.rows, j.id, j)
	s.happened(was, j)
}

// next is nextval: nothing undoes it but a crash that loses its log.
func (s *server) next(of int) int64 {
	q := &s.sequences[of]
	if q.last++; q.last > q.logged {
		was := q.logged
		s.open = append(s.open, func() { q.logged = was })
		q.logged = q.last
	}
	return q.last
}

// crash ends the server. It comes up with the commits that are on its disk: of those that did not wait for that, the
// part keep of the last 600 ms.
func (s *server) crash(keep float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := len(s.commits)
	for first > 0 && !s.commits[first-1].sync && s.clock().Sub(s.commits[first-1].at) < 600*time.Millisecond {
		first--
	}
	s.restart(first + int(keep*float64(len(s.commits)-first+1)))
}

// promote makes a standby the server that lacks the commits of the last while.
func (s *server) promote(name string, lacks time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := len(s.commits)
	for first > 0 && s.clock().Sub(s.commits[first-1].at) < lacks {
		first--
	}
	s.name = name
	s.restart(first)
}

// restart is recovery: the log up to a commit is there, and nothing else.
func (s *server) restart(commits int) {
	for _, c := range slices.Backward(s.commits[commits:]) {
		for _, undo := range slices.Backward(c.undo) {
			undo()
		}
	}
	s.commits = s.commits[:commits]
	for i := range s.sequences {
		s.sequences[i].last = s.sequences[i].logged
	}
	clear(s.asserted)
	s.era = scheduler.Era{Floor: -1}
	s.life++
}

// beginEra is bellhop.era().
func (s *server) beginEra() scheduler.Era {
	if s.era.Server == s.name {
		return s.era
	}
	switch {
	case s.era.Floor == 0 && s.era.Server == "": // a new schema
	default:
		s.era.Floor = s.floor()
	}
	s.eraBegan = s.clock()
	if s.without == floorOfFences {
		s.era.Floor = 0
	}
	s.era.Server = s.name
	if _, known := s.seen[s.name]; !known {
		put(s, s.seen, s.name, s.era.Floor)
		if s.era.Floor > 0 || s.without == floorOfFences {
			for i := range s.sequences {
				q := &s.sequences[i]
				was := *q
				s.open = append(s.open, func() { q.last, q.logged = was.last, was.logged })
				q.last += 100_001 + s.skip(i)
				q.logged = q.last
			}
		}
	}
	return s.era
}

// submit inserts a job. Its number is given out before it commits, see the client.
func (s *server) submit(j row) row {
	j.created, j.state = s.clock(), scheduler.Ready
	other, there := s.rows[j.needs]
	switch {
	case there && !other.state.Final():
		j.state = scheduler.Blocked
	case there && other.state != scheduler.Succeeded:
		j.state = scheduler.Failed
	case j.runAt.After(j.created):
		j.state = scheduler.Scheduled
	}
	s.set(j)
	s.notify(inserted, 0)
	return j
}

// sorted are the rows in the order in which they are claimed.
func (s *server) sorted() []row {
	return slices.SortedFunc(maps.Values(s.rows), func(a, b row) int { return cmp.Compare(a.id, b.id) })
}

// claim is claim.sql and its kind.
func (s *server) claim(me scheduler.InstanceID, most int, assigned bool, floor scheduler.Fence) (taken []row) {
	if !s.members[me].live {
		return nil
	}
	for _, j := range s.sorted() {
		if len(taken) == most || j.state != scheduler.Ready || j.runAt.After(s.clock()) {
			continue
		}
		j.state, j.instance, j.attempt = scheduler.Running, me, j.attempt+1
		if assigned {
			j.state = scheduler.Assigned
		}
		j.fence = max(j.fence+1, floor)
		s.set(j)
		taken = append(taken, j)
	}
	return taken
}

// claims is claims.sql.
func (s *server) claims(me scheduler.InstanceID) (holds []scheduler.Hold) {
	for _, j := range s.sorted() {
		if j.instance == me && j.held() {
			holds = append(holds, scheduler.Hold{Claim: j.claim(), Cancel: j.stopping})
		}
	}
	return holds
}

// reassert is reassert.sql.
func (s *server) reassert(me scheduler.InstanceID, holds []scheduler.Hold) (n int) {
	if !s.members[me].live {
		return 0
	}
	for _, h := range holds {
		j, there := s.rows[h.Job]
		if !there || !j.created.Equal(h.CreatedAt) && s.without != sameRow {
			continue
		}
		asBefore := j.state == scheduler.Ready && j.fence < h.Fence && j.attempt == h.Attempt-1
		if asBefore || s.without == notClaimedSince && !j.state.Final() && j.instance != me {
			j.state, j.instance, j.fence, j.attempt = scheduler.Running, me, h.Fence, h.Attempt
			s.set(j)
			n++
		}
	}
	return n
}

func (s *server) assertedBy(me scheduler.InstanceID) bool {
	s.asserted[me] = true
	return true
}

// notAsserted is not_asserted.sql.
func (s *server) notAsserted() (names []string) {
	for _, m := range s.living() {
		if !s.asserted[m.ID] {
			names = append(names, m.Name)
		}
	}
	return names
}

func (s *server) living() (list []member) {
	for _, id := range slices.Sorted(maps.Keys(s.members)) {
		if s.members[id].live {
			list = append(list, s.members[id])
		}
	}
	return list
}

// fates is fates.sql.
func (s *server) fates(runs []scheduler.Run) []scheduler.Fate {
	fates := make([]scheduler.Fate, len(runs))
	for i, r := range runs {
		j, there := s.rows[r.Job]
		switch {
		case !there || !j.created.Equal(r.CreatedAt):
			fates[i] = scheduler.FateGone
		case j.fence < r.Fence || r.Over && j.fence == r.Fence && j.held():
			fates[i] = scheduler.FateAgain
		case r.Over && j.fence > r.Fence && !slices.Contains(j.past, r.Fence):
			fates[i] = scheduler.FateAgain
		}
	}
	return fates
}
