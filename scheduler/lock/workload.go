package lock

import (
	"math"
	"strconv"
	"time"
)

// luck is a small generator of numbers that look random (splitmix64): the same
// seed gives the same workload on every machine and with every version of Go.
type luck uint64

func (l *luck) next() uint64 {
	*l += 0x9e3779b97f4a7c15
	z := uint64(*l)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// unit is in [0,1).
func (l *luck) unit() float64 { return float64(l.next()>>11) / (1 << 53) }

func (l *luck) below(n int) int { return int(l.next() % uint64(n)) }

// spread is about typical, at times several times as long: log-normal, from the
// sum of twelve numbers in place of a normal one.
func (l *luck) spread(typical time.Duration) time.Duration {
	sum := -6.0
	for range 12 {
		sum += l.unit()
	}
	return time.Duration(float64(typical) * math.Exp(0.6*sum)).Round(10 * time.Millisecond)
}

// The cluster of the workload.
const (
	clusterNodes     = 80
	clusterGroups    = 4
	clusterInstances = 1000
	clusterNetworks  = 6
)

// ganetiSlots and ganetiLoad: the workload keeps so many slots busy for so large
// a part of the time, so that there is something to choose from and an end to it.
const (
	ganetiSlots = 20
	ganetiLoad  = 0.6
)

// kindOfJob is a type of Ganeti's jobs, how often it comes among 1000, how long it
// takes typically, and what it locks (Ganeti design-predictive-queue, static declarations).
type kindOfJob struct {
	name  string
	often int
	takes time.Duration
	locks func(c *cluster) (known, asks []Want)
}

// cluster is what jobs are about.
type cluster struct {
	luck
	created int
}

func want(level, name string, m Mode) Want { return Want{Level: level, Name: name, Mode: m} }
func allOf(level string, m Mode) Want      { return Want{Level: level, Scope: All, Mode: m} }
func someOf(level string, m Mode) Want     { return Want{Level: level, Scope: Unknown, Mode: m} }
func node(i int) string                    { return "node" + strconv.Itoa(i%clusterNodes) }
func groupName(i int) string               { return "group" + strconv.Itoa(i%clusterGroups) }
func (c *cluster) instance() (name string, i int) {
	i = c.below(clusterInstances)
	return "inst" + strconv.Itoa(i), i
}

// homes are the two nodes of an instance.
func homes(i int) (string, string) { return node(i * 7), node(i*7 + 1 + i%5) }

// fresh is an instance that is not there yet.
func (c *cluster) fresh() string { c.created++; return "new" + strconv.Itoa(c.created) }

// onInstance locks one instance alone.
func onInstance(m Mode) func(*cluster) (known, asks []Want) {
	return func(c *cluster) ([]Want, []Want) {
		name, _ := c.instance()
		return []Want{want("instance", name, m)}, nil
	}
}

var ganetiJobs = []kindOfJob{
	{"instance-start", 200, 20 * time.Second, func(c *cluster) (known, asks []Want) {
		name, i := c.instance()
		first, _ := homes(i)
		known = []Want{want("instance", name, Exclusive), someOf("noderes", Exclusive)}
		return known, []Want{want("noderes", first, Exclusive)}
	}},
	{"instance-shutdown", 130, 40 * time.Second, onInstance(Exclusive)},
	{"instance-reboot", 120, 30 * time.Second, onInstance(Exclusive)},
	{"instance-console", 60, 5 * time.Second, onInstance(Shared)},
	{"instance-migrate", 130, 90 * time.Second, func(c *cluster) (known, asks []Want) {
		name, i := c.instance()
		known = []Want{want("instance", name, Exclusive)}
		first, second := homes(i)
		for _, n := range []string{first, second} {
			known = append(known, want("node", n, Exclusive), want("noderes", n, Exclusive))
		}
		return known, nil
	}},
	{"instance-create", 110, 150 * time.Second, func(c *cluster) (known, asks []Want) {
		at := c.below(clusterNodes)
		for _, n := range []string{node(at), node(at + 1)} {
			asks = append(asks, want("node", n, Exclusive), want("noderes", n, Exclusive))
		}
		return []Want{want("instance", c.fresh(), Exclusive), someOf("node", Exclusive), someOf("noderes", Exclusive), someOf("nodegroup", Shared)},
			append(asks, want("nodegroup", groupName(at), Shared))
	}},
	{"instance-create-on", 50, 150 * time.Second, func(c *cluster) (known, asks []Want) {
		n := node(c.below(clusterNodes))
		return []Want{want("instance", c.fresh(), Exclusive), want("node", n, Exclusive),
			want("noderes", n, Exclusive), someOf("nodegroup", Shared)}, nil
	}},
	{"instance-rename", 20, 15 * time.Second, func(c *cluster) (known, asks []Want) {
		name, _ := c.instance()
		return []Want{want("instance", name, Exclusive), want("instance", c.fresh(), Exclusive)}, nil
	}},
	{"group-verify-disks", 25, 30 * time.Second, func(c *cluster) (known, asks []Want) {
		return []Want{allOf("nodegroup", Shared), someOf("instance", Shared), someOf("node", Shared)}, nil
	}},
	{"cluster-verify-config", 2, 20 * time.Second, func(*cluster) (known, asks []Want) {
		for _, level := range GanetiLevels {
			known = append(known, allOf(level, Shared))
		}
		return known, nil
	}},
	{"network-add", 15, 10 * time.Second, func(c *cluster) (known, asks []Want) {
		network := "net" + strconv.Itoa(c.below(clusterNetworks))
		return []Want{allOf("nodegroup", Shared), want("network", network, Exclusive)}, nil
	}},
	{"node-modify", 25, 15 * time.Second, func(c *cluster) (known, asks []Want) {
		n := node(c.below(clusterNodes))
		return []Want{want("node", n, Exclusive), want("noderes", n, Exclusive)}, nil
	}},
	{"tags-set", 60, 2 * time.Second, onInstance(Exclusive)},
	{"node-add", 1, 30 * time.Second, func(*cluster) (known, asks []Want) { return []Want{{Big: true}}, nil }},
	{"query", 52, 3 * time.Second, func(*cluster) (known, asks []Want) { return nil, nil }},
}

// GanetiWorkload is n jobs such as a cluster of 1000 instances on 80 nodes has: types and locks of Ganeti
// design-predictive-queue; single jobs and batches of one type, as when an operator restarts a rack. Frequencies
// and durations are ours: they are not measured on a cluster. If no job waits for locks, it keeps 20 slots busy for
// 60 % of the time. The same seed gives the same jobs.
func GanetiWorkload(n int, seed uint64) []Arrival {
	c := &cluster{luck: luck(seed)}
	mean := time.Duration(0)
	for _, k := range ganetiJobs {
		mean += time.Duration(float64(k.takes) * 1.2 * float64(k.often) / 1000) // 1.2 is the mean of spread
	}
	gap := float64(mean) / ganetiSlots / ganetiLoad
	var jobs []Arrival
	for at := time.Duration(0); len(jobs) < n; {
		batch := 1
		if c.below(20) == 0 {
			batch = 5 + c.below(30)
		}
		k := c.draw()
		priority := [10]int{-10, 0, 0, 0, 0, 0, 0, 0, 10, 10}[c.below(10)]
		for range min(batch, n-len(jobs)) {
			known, asks := k.locks(c)
			jobs = append(jobs, Arrival{At: at, Type: k.name, Locks: NewSet(known...), Asks: NewSet(asks...),
				Priority: priority, Takes: c.spread(k.takes)})
		}
		at += time.Duration(-math.Log(1-c.unit()) * gap * float64(batch)).Round(10 * time.Millisecond)
	}
	return jobs
}

func (c *cluster) draw() kindOfJob {
	n := c.below(1000)
	for _, k := range ganetiJobs {
		if n -= k.often; n < 0 {
			return k
		}
	}
	return ganetiJobs[len(ganetiJobs)-1]
}
