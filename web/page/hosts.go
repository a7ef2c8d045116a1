package page

import (
	"encoding/json"
	"maps"
	"slices"

	"bellhop/scheduler"
	"bellhop/sql/view"
)

type hostsData struct {
	Instances []view.InstanceRow
	Lanes     []lane
	Agents    []agent
	AllPaused bool // no job of any type starts
	Address   string
	Paused    []view.PausedRow
}

// agent is a type, and how it goes on each host.
type agent struct {
	view.AgentRow
	Troubles []hostTrouble
	Children int
	Paused   bool
}

type hostTrouble struct {
	Host string
	scheduler.Account
}

func hosts(r *request) (content, error) {
	f, err := r.fleet()
	if err != nil {
		return content{}, err
	}
	children, err := r.Look.Children(r)
	if err != nil {
		return content{}, err
	}
	var words map[view.AgentKey]map[string]string
	if r.may.Operates {
		if words, err = r.Look.AgentWords(r); err != nil {
			return content{}, err
		}
	}
	o := overviewData{}
	o.lanes(f, children)
	d := hostsData{Instances: f.Instances, Lanes: o.Lanes, Paused: f.Paused, Address: r.pages.Address}
	for _, p := range f.Paused {
		d.AllPaused = d.AllPaused || p.Type == ""
	}
	for _, a := range f.Agents {
		one := agent{AgentRow: a, Troubles: troubles(a, words[view.AgentKey{Instance: a.Instance, Type: a.Type}])}
		for _, p := range f.Paused {
			one.Paused = one.Paused || p.Type == string(a.Type)
		}
		for _, c := range children {
			if c.Instance == a.Instance && c.Type == a.Type && c.State != "FREE" {
				one.Children++
			}
		}
		d.Agents = append(d.Agents, one)
	}
	return content{Title: "Hosts", Template: "hosts", Data: d}, nil
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
