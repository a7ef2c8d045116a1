package doctor

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"bellhop/agents"
	"bellhop/agents/guard"
	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/cmd/bellhop/internal/fleet"
	"bellhop/sql/store"
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
		d.ok("guard", "it has a cgroup of its own: whatever agents start is ended with it (cgroup.kill)")
		return
	}
	d.ok("guard", fmt.Sprintf("it has no cgroup here (%v): what agents start is known by parents, sessions, pipes and environment", err))
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

// checkInstances looks for those that serve, and asks the one on this machine.
func (d *doctor) checkInstances(ctx context.Context, s *cli.Session) error {
	list, err := s.Instances(ctx)
	if err != nil {
		if plan, bad := cli.Schema(); bad == nil && plan.Check(ctx, s.Conn) != nil {
			return nil // the schema is another one, which was said
		}
		return err
	}
	if len(list) == 0 {
		d.mend("instances", "none is running: jobs wait", "systemctl start bellhop   # or: bellhop serve")
		return nil
	}
	versions := map[string]bool{}
	for _, i := range list {
		versions[i.Version] = true
		if lag := d.config.Instance.Lag.Seconds(); i.Silent > lag {
			d.mend("instances",
				fmt.Sprintf("instance %d (%s, pid %d on %s) is silent for %s", i.ID, i.Name, i.PID, i.Hostname, cli.Age(i.Silent)),
				"bellhop instances   # another instance takes over what it holds; or: bellhop serve -R")
		}
	}
	if len(versions) > 1 {
		d.note("instances", fmt.Sprintf("%d run, in %d versions: fine during an upgrade", len(list), len(versions)), "bellhop instances")
	} else {
		d.ok("instances", cli.Count(len(list), "instance")+" of version "+list[0].Version)
	}
	hostname, err := os.Hostname()
	if err == nil && slices.ContainsFunc(list, func(i store.InstanceRow) bool { return i.Hostname == hostname }) {
		d.checkReady(ctx)
	}
	return nil
}

// checkReady asks the instance of this machine whether it can work.
func (d *doctor) checkReady(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, bellPatience)
	defer cancel()
	url := "http://" + d.config.Listen + "/readyz"
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		d.note("readiness", err.Error(), "")
		return
	}
	answer, err := http.DefaultClient.Do(ask)
	if err != nil {
		d.note("readiness", "nobody answers at "+url, "bellhop doctor -c FILE   # that of the instance")
		return
	}
	defer answer.Body.Close()
	words, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<10)) // what has come is enough
	if answer.StatusCode != http.StatusOK {
		d.mend("readiness", url+": "+string(words), "journalctl -u bellhop -n 50   # says why")
		return
	}
	d.ok("readiness", url+": "+string(words))
}

// diskFree is how many bytes others than root may still write to a folder's disk.
func diskFree(dir string) (int64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, fmt.Errorf("look at the disk of %s: %w", dir, err)
	}
	return int64(s.Bavail) * int64(s.Bsize), nil
}
