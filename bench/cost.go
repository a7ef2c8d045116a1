package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// cost is the processor time of each process so far, by the part that it belongs to.
type cost map[part]map[int]time.Duration

type part string

const (
	partServer    part = "server"    // PostgreSQL, all of it but the connection of the measure's own
	partScheduler part = "scheduler" // the program that is measured; an app with its handlers
	partGuards    part = "guards"
	partAgents    part = "agents"
)

// cost looks at all processes that work for the contender. What one used that has
// ended before the next look is not seen: none of those measured here ends.
func (s *session) cost(ctx context.Context) (cost, error) {
	var own int
	if err := s.conn.QueryRow(ctx, "select pg_backend_pid()").Scan(&own); err != nil {
		return nil, err
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", own))
	if err != nil {
		return nil, err
	}
	var state string
	var postmaster int
	if _, err := fmt.Sscan(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), &state, &postmaster); err != nil {
		return nil, err
	}
	server, err := childrenOf(postmaster)
	if err != nil {
		return nil, err
	}
	c := cost{partServer: {}, partScheduler: {}, partGuards: {}, partAgents: {}}
	for _, pid := range append(server, postmaster) {
		if pid != own {
			c.add(partServer, pid)
		}
	}
	pids := []int{s.pid()}
	if all, ok := s.contender.(interface{ pids() []int }); ok {
		pids = all.pids()
	}
	for _, pid := range pids {
		c.add(partScheduler, pid)
		err = errors.Join(err, c.addBelow(pid))
	}
	return c, err
}

func (c cost) addBelow(pid int) error {
	children, err := childrenOf(pid)
	for _, child := range children {
		of := partAgents
		if isGuard(child) {
			of = partGuards
		}
		c.add(of, child)
		if err == nil {
			err = c.addBelow(child)
		}
	}
	return err
}

func (c cost) add(of part, pid int) {
	if used, err := cpuTime(pid); err == nil { // else it has just ended
		c[of][pid] = used
	}
}

// since is what a part has used since an earlier look.
func (c cost) since(before cost, of part) (used time.Duration) {
	for pid, now := range c[of] {
		used += now - before[of][pid]
	}
	return used
}

// noteCost notes what each of n jobs has cost.
func (b *bench) noteCost(round int, row, program string, before, after cost, n int) {
	each := func(of part) float64 { return float64(after.since(before, of).Nanoseconds()) / 1000 / float64(n) }
	for _, of := range []part{partServer, partScheduler, partGuards, partAgents} {
		if len(after[of]) > 0 {
			b.note(round, row+": CPU a job, "+string(of), program, each(of), "µs")
		}
	}
	b.note(round, row+": CPU a job, server and scheduler", program, each(partServer)+each(partScheduler), "µs")
}

// isGuard: the helper that collects crashes is none.
func isGuard(pid int) bool {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && strings.HasPrefix(string(line), "bh-guard")
}
