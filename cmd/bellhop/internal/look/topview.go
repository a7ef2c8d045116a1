package look

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/scheduler"
	"bellhop/sql/store"
)

// topView is one look at the whole system.
type topView struct {
	At        time.Time           `json:"at"`
	Instances []store.InstanceRow `json:"instances"`
	Hosts     []store.HostRow     `json:"hosts"`
	Children  []store.ChildRow    `json:"children"`
	Queue     []store.QueueRow    `json:"queue"`
	// Rates are lines finished a second, by type, since the look before; nil on the first.
	Rates map[scheduler.TypeName]float64 `json:"rates"`
}

// pace finds the rates from what children had done at the look before.
func (v *topView) pace(before topView) {
	if before.At.IsZero() || !v.At.After(before.At) {
		return
	}
	type child struct {
		instance   int64
		host, name string
	}
	had := map[child]int64{}
	for _, c := range before.Children {
		had[child{c.Instance, c.Host, string(c.Name)}] = c.Done
	}
	v.Rates = map[scheduler.TypeName]float64{}
	for _, c := range v.Children {
		if done := c.Done - had[child{c.Instance, c.Host, string(c.Name)}]; done > 0 {
			v.Rates[c.Type] += float64(done) / v.At.Sub(before.At).Seconds()
		}
	}
}

// topType is a type's line.
type topType struct {
	ready, taken int64
	why          string
}

// frame is the look as lines, none longer than width (0: as long as they are)
// and no more than height (0: all).
func (v topView) frame(width, height int) []string {
	var lines []string
	add := func(text string) { lines = append(lines, cli.Cut(cli.Clean(text), width)) }
	slots, live, running := 0, 0, 0
	for _, h := range v.Hosts {
		slots, live, running = slots+h.Slots, live+h.Children, running+h.Running
	}
	types := map[scheduler.TypeName]*topType{}
	of := func(t scheduler.TypeName) *topType {
		if types[t] == nil {
			types[t] = &topType{}
		}
		return types[t]
	}
	states := map[string]int64{}
	for _, q := range v.Queue {
		states[q.State] += q.N
		switch q.State {
		case "ready":
			of(q.Type).ready, of(q.Type).why = q.N, q.Why
		case "running":
			of(q.Type).taken = q.N
		}
	}
	total := -1.0
	if v.Rates != nil {
		total = 0
		for t, rate := range v.Rates {
			total += rate
			of(t)
		}
	}
	add(fmt.Sprintf("bellhop  %s  %s  running %d  ready %d  children %d/%d", v.At.Format(time.TimeOnly), rateWords(total),
		states["running"], states["ready"], live, slots))
	add(fmt.Sprintf("instances %d  held %d  blocked %d  scheduled %d  failed %d  quarantined %d", len(v.Instances),
		states["held"], states["blocked"], states["scheduled"], states["failed"], states["quarantined"]))
	if len(v.Instances) == 0 {
		add(NoInstance)
	}

	barWidth := 20
	if width > 0 {
		barWidth = max(4, min(20, width/4))
	}
	hosts := cli.Table{Header: []string{"HOST", "SLOTS", "FULL", "RUNNING"}}
	for _, h := range v.Hosts {
		hosts.Add(h.Name, fmt.Sprintf("%d/%d", h.Children, h.Slots), bar(h.Children, h.Slots, barWidth),
			strconv.Itoa(h.Running))
	}
	kinds := cli.Table{Header: []string{"TYPE", "READY", "RUNNING", "PACE", "WAITS FOR"}}
	for _, t := range slices.Sorted(maps.Keys(types)) {
		rate := -1.0
		if v.Rates != nil {
			rate = v.Rates[t]
		}
		kinds.Add(string(t), strconv.FormatInt(types[t].ready, 10), strconv.FormatInt(types[t].taken, 10), rateWords(rate),
			types[t].why)
	}
	children := cli.Table{Header: []string{"CHILD", "STATE", "FOR", "JOB", "DONE", "DEATHS", "HOST"}}
	for _, c := range v.Children {
		children.Add(string(c.Name), c.State, cli.Age(c.Age), cli.Number(c.Job), strconv.FormatInt(c.Done, 10),
			strconv.FormatInt(c.Deaths, 10), c.Host)
	}
	for _, t := range []cli.Table{hosts, kinds, children} {
		if len(t.Rows) == 0 {
			continue
		}
		lines = append(lines, "")
		for line := range strings.Lines(t.Aligned()) {
			add(strings.TrimRight(line, " \n"))
		}
	}
	if height > 0 && len(lines) > height {
		more := len(lines) - height + 1
		lines = append(lines[:height-1], cli.Cut(fmt.Sprintf("… %d lines more", more), width))
	}
	return lines
}
