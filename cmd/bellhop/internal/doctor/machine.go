//go:build unix

package doctor

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"bellhop/agents"
	"bellhop/agents/guard"
	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/cmd/bellhop/internal/fleet"
)

const (
	// filesBase and filesPerChild are how many open files an instance needs.
	filesBase, filesPerChild = 128, 8
	// hostPatience is how long a host may take to be reached.
	hostPatience = 20 * time.Second
	// strayPatience is how long the guards of a dead instance may take to end.
	strayPatience = 3 * time.Second
)

// checkFiles: every child needs its pipes.
func (d *doctor) checkFiles() {
	slots := 0
	for _, h := range d.config.Hosts {
		slots += h.Slots
	}
	need := uint64(filesBase + filesPerChild*slots)
	var have syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &have); err != nil {
		d.note("open files", err.Error(), "")
		return
	}
	// The soft limit is raised by every Go program as it starts.
	if have.Max < need {
		d.mend("open files", fmt.Sprintf("%d may be open; %s need %d", have.Max, cli.Count(slots, "slot"), need),
			fmt.Sprintf("ulimit -n %d   # LimitNOFILE=%[1]d in the unit", need))
		return
	}
	d.ok("open files", fmt.Sprintf("%d may be open; %s need %d", have.Max, cli.Count(slots, "slot"), need))
}

// checkLeftovers looks for agents that have outlived their instance.
func (d *doctor) checkLeftovers() {
	// Those of one that has just died are about to go.
	var stuck []int
	for end := time.Now().Add(strayPatience); ; time.Sleep(strayPatience / 10) {
		if stuck = agents.Strays(); len(stuck) == 0 || time.Now().After(end) {
			break
		}
	}
	if len(stuck) == 0 {
		d.ok("leftovers", "no agent has outlived its instance")
		return
	}
	var all []string
	for _, g := range stuck {
		for _, pid := range append([]int{g}, guard.Descendants(g)...) {
			all = append(all, strconv.Itoa(pid))
		}
	}
	d.mend("leftovers", fmt.Sprintf("%s of instances that are dead: pid %v", cli.Count(len(stuck), "guard"), stuck), "kill -KILL "+strings.Join(all, " "))
}

// checkCgroups says how the guard knows what descends from its agents.
func (d *doctor) checkCgroups() {
	err := guard.MayUseCgroups()
	if err == nil {
		d.ok("guard", "it has its own cgroup: all processes of agents end with it (cgroup.kill)")
		return
	}
	d.ok("guard", fmt.Sprintf("it has no cgroup here (%v): processes of agents are found by parents, sessions, pipes and environment", err))
}

// checkLimits says whether agents that have memory or cpu in the configuration can be limited.
func (d *doctor) checkLimits() {
	var types []string
	for _, a := range d.config.Agents {
		if a.Memory > 0 || a.CPU > 0 {
			types = append(types, string(a.Type))
		}
	}
	if len(types) == 0 {
		return
	}
	const need = "run bellhop as a service with Delegate=yes (bellhop install systemd), on Linux with cgroup version 2"
	if err := cmp.Or(guard.MayLimit("memory"), guard.MayLimit("cpu")); err != nil {
		d.note("limits", fmt.Sprintf("memory and cpu of %s are not limited here: %v", strings.Join(types, ", "), err), need)
		return
	}
	d.ok("limits", fmt.Sprintf("memory and cpu of %s can be limited; the log says so if this instance may not (%s)", strings.Join(types, ", "), need))
}

// checkHosts tries the way to every host that is not this machine.
func (d *doctor) checkHosts(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, hostPatience)
	defer cancel()
	l := agents.NewLauncher(
		agents.Config{Specs: fleet.Specs(d.config), Connect: fleet.Connects(d.config), Stderr: io.Discard})
	errs := make([]error, len(d.config.Hosts))
	var all sync.WaitGroup
	for i, h := range d.config.Hosts {
		if len(h.Connect) > 0 {
			all.Go(func() { errs[i] = l.Reach(ctx, h.Name) })
		}
	}
	all.Wait()
	for i, h := range d.config.Hosts {
		switch {
		case len(h.Connect) == 0:
		case errs[i] != nil:
			d.mend("host "+string(h.Name), errs[i].Error(), strings.Join(h.Connect, " ")+" true   # by hand, as the account that serves")
		default:
			d.ok("host "+string(h.Name), "reached")
		}
	}
}

// diskFree is how many bytes others than root may still write to a folder's disk.
func diskFree(dir string) (int64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, fmt.Errorf("look at the disk of %s: %w", dir, err)
	}
	return int64(s.Bavail) * int64(s.Bsize), nil
}
