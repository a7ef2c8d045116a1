package page

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"bellhop/scheduler"
	"bellhop/sql/view"
)

type hostsData struct {
	Instances []view.InstanceRow
	Lanes     []lane
	Agents    []agent // those in trouble first, then those that run
	Idle      []agent // the others
	Find      string  // shows only types with this in their names
	Types     int     // in all
	AllPaused bool    // no job of any type starts
	Several   bool    // instances: each is named
	Address   string
	Paused    []view.PausedRow
}

// agent is a type, and how it goes on each host; on several instances it is one.
type agent struct {
	view.AgentRow
	Troubles []hostTrouble
	Children int
	Running  int // of the children
	Paused   bool
	Differ   int // instances with another command
}

type hostTrouble struct {
	Host string
	scheduler.Account
}

// rank puts agents in trouble first, and idle ones last.
func (a agent) rank() int {
	switch {
	case len(a.Troubles) > 0 || a.Paused:
		return 0
	case a.Running > 0:
		return 1
	case a.Children > 0:
		return 2
	}
	return idleRank
}

const idleRank = 3

// agentsMost is how many agents the table lists; the others are named.
const agentsMost = 60

func hosts(r *request) (content, error) {
	f, err := r.fleet()
	if err != nil {
		return content{}, err
	}
	children, err := r.Look.Children(r)
	if err != nil {
		return content{}, err
	}
	var said map[view.AgentKey]map[string]string
	if r.may.Operates {
		if said, err = r.Look.AgentWords(r); err != nil {
			return content{}, err
		}
	}
	o := overviewData{}
	o.lanes(f, children)
	d := hostsData{Instances: f.Instances, Lanes: o.Lanes, Paused: f.Paused, Address: r.pages.Address,
		Several: len(f.Instances) > 1, Find: strings.TrimSpace(r.query.Get("type"))}
	slices.SortStableFunc(d.Lanes, func(a, b lane) int { return cmp.Compare(upRank(a), upRank(b)) })
	for _, p := range f.Paused {
		d.AllPaused = d.AllPaused || p.Type == ""
	}
	all := agents(f, children, said)
	d.Types = len(all)
	for _, a := range all {
		switch {
		case !strings.Contains(strings.ToLower(string(a.Type)), strings.ToLower(d.Find)):
		case (a.rank() == idleRank && d.Find == "" && d.Types > 20) || len(d.Agents) >= agentsMost:
			d.Idle = append(d.Idle, a)
		default:
			d.Agents = append(d.Agents, a)
		}
	}
	return content{Title: "Hosts", Template: "hosts", Data: d}, nil
}

func upRank(l lane) int {
	if l.State != "up" {
		return 0
	}
	return 1
}

// agents are the types of a fleet, those in trouble first.
func agents(f fleet, children []view.ChildRow, said map[view.AgentKey]map[string]string) (list []agent) {
	at := map[scheduler.TypeName]int{}
	for _, row := range f.Agents {
		one := oneAgent(row, f, children, said)
		i, ok := at[row.Type]
		if !ok {
			at[row.Type] = len(list)
			list = append(list, one)
			continue
		}
		a := &list[i]
		a.Troubles = append(a.Troubles, one.Troubles...)
		a.Children, a.Running = a.Children+one.Children, a.Running+one.Running
		if a.Command != one.Command {
			a.Differ++
		}
	}
	slices.SortStableFunc(list, func(a, b agent) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.Type, b.Type))
	})
	return list
}

// oneAgent is an agent with its children, and with what its troubles said.
func oneAgent(a view.AgentRow, f fleet, children []view.ChildRow, said map[view.AgentKey]map[string]string) agent {
	one := agent{AgentRow: a, Troubles: troubles(a, said[view.AgentKey{Instance: a.Instance, Type: a.Type}])}
	for _, p := range f.Paused {
		one.Paused = one.Paused || p.Type == string(a.Type)
	}
	for _, c := range children {
		if c.Instance == a.Instance && c.Type == a.Type && c.State != "FREE" {
			one.Children++
			if c.State == "RUNNING" {
				one.Running++
			}
		}
	}
	return one
}

// troubles are why no child of an agent comes up, by host.
func troubles(a view.AgentRow, words map[string]string) (list []hostTrouble) {
	var reasons map[string]string
	if err := json.Unmarshal(a.Trouble, &reasons); err != nil {
		return []hostTrouble{{Host: "", Account: scheduler.Account{Reason: string(a.Trouble)}}}
	}
	for _, h := range slices.Sorted(maps.Keys(reasons)) {
		list = append(list, hostTrouble{h, scheduler.Account{Reason: reasons[h], Message: words[h]}})
	}
	return list
}
