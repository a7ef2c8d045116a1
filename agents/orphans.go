package agents

import (
	"context"
	"maps"
	"math"
	"os"
	"slices"
	"syscall"
	"time"

	"bellhop/agents/guard"
)

// clearOrphans is for a guard that died before its agents: the kernel killed the agents with it, and gave their
// children to init. It returns when it finds no more of: the agents, their sessions, processes with one of their
// pipes as 0, 1 or 2, and the descendants of these; and when all that it found are dead: a dying process has no
// pipes any more. A process that has left all of them is known by the mark in its environment. One that has removed
// that too is known only where guards may have a cgroup.
func (s *sharedGuard) clearOrphans() {
	found := map[int]uint64{} // when each began, by pid
	for nap := time.Millisecond; ; nap = min(2*nap, 500*time.Millisecond) {
		orphans := append(s.orphans(), guard.KillCgroup(s.cgroup)...)
		for _, orphan := range orphans {
			for _, pid := range append(guard.Descendants(orphan), orphan) {
				if s, ok := guard.ReadStat(pid); ok {
					found[pid] = s.Start
				}
			}
			guard.KillTree(orphan)
			_ = syscall.Kill(orphan, syscall.SIGKILL)
		}
		maps.DeleteFunc(found, func(pid int, start uint64) bool {
			s, ok := guard.ReadStat(pid)
			return !ok || s.Dead() || s.Start != start
		})
		if len(orphans) == 0 && len(found) == 0 {
			return
		}
		time.Sleep(nap)
	}
}

func (s *sharedGuard) orphans() (pids []int) {
	self := os.Getpid()
	agents, pipes := map[int]uint64{}, map[uint64]bool{} // started when, by pid; inodes
	since := uint64(math.MaxUint64)
	for _, g := range s.members() {
		g.mu.Lock()
		if g.agent != 0 { // else the guard died before it said which that is
			agents[g.agent] = g.started
		}
		since = min(since, g.since)
		g.mu.Unlock()
		for _, inode := range g.pipes {
			pipes[inode] = true
		}
	}
	delete(pipes, 0)
	guard.EachProcess(func(pid int) {
		s, ok := guard.ReadStat(pid)
		if !ok || s.Dead() || pid == self || s.Start < since {
			return
		}
		started, is := agents[pid]
		_, of := agents[s.Session]
		if is && s.Start == started || of || holdsPipe(pid, pipes) {
			pids = append(pids, pid)
		}
	})
	for _, pid := range guard.Marked(s.mark) {
		if !slices.Contains(pids, pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// killUnguarded kills what lives on of agents whose guard was killed, and
// returns when all of it is dead, or ctx is over: then it names what still lives.
func killUnguarded(ctx context.Context) (alive []int) {
	known := map[int]guard.Stat{}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		found := guard.KillUnguarded()
		remember(known, found)
		if alive = living(known); len(found) == 0 && len(alive) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return alive
		case <-tick.C:
		}
	}
}
