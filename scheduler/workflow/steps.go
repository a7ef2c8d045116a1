package workflow

import (
	"fmt"
	"slices"
)

// Chain puts the steps one after the other.
func Chain(steps []Step) {
	for i := 1; i < len(steps); i++ {
		steps[i].After = []string{steps[i-1].Name}
	}
}

// InOrder puts each step behind those that it needs, and else leaves them as they are.
func InOrder(steps []Step) []Step {
	sorted, _ := order(steps)
	return sorted
}

// order is the steps so that each comes behind those it needs; or a cycle of names.
func order(steps []Step) (sorted []Step, cycle []string) {
	at := map[string]int{}
	for i, s := range steps {
		if _, twice := at[s.Name]; !twice {
			at[s.Name] = i
		}
	}
	const (
		fresh = iota
		entered
		left
	)
	state := make([]int, len(steps))
	type place struct{ step, next int }
	for i := range steps {
		if state[i] != fresh {
			continue
		}
		// Not by recursion: a chain may have 10,000 steps.
		way := []place{{step: i}}
		state[i] = entered
		for len(way) > 0 {
			top := &way[len(way)-1]
			s := steps[top.step]
			if top.next == len(s.After) {
				state[top.step] = left
				sorted = append(sorted, s)
				way = way[:len(way)-1]
				continue
			}
			needs, there := at[s.After[top.next]]
			top.next++
			switch {
			case !there || needs == top.step: // a fault of its own
			case state[needs] == fresh:
				state[needs] = entered
				way = append(way, place{step: needs})
			case state[needs] == entered:
				from := slices.IndexFunc(way, func(p place) bool { return p.step == needs })
				for _, p := range way[from:] {
					cycle = append(cycle, steps[p.step].Name)
				}
				return nil, cycle
			}
		}
	}
	return sorted, nil
}

// From is the names of a step and of all that need it, by way of others too.
func From(steps []Step, name string) ([]string, error) {
	if !slices.ContainsFunc(steps, func(s Step) bool { return s.Name == name }) {
		return nil, fmt.Errorf("there is no step %q", name)
	}
	chosen := map[string]bool{name: true}
	list := []string{name}
	for _, s := range steps { // each stands behind those that it needs
		if !chosen[s.Name] && slices.ContainsFunc(s.After, func(n string) bool { return chosen[n] }) {
			chosen[s.Name] = true
			list = append(list, s.Name)
		}
	}
	return list, nil
}

// Roots are the steps that wait for no other.
func Roots(steps []Step) (list []string) {
	for _, s := range steps {
		if len(s.After) == 0 {
			list = append(list, s.Name)
		}
	}
	return list
}
