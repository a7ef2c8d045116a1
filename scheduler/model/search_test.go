// Package model searches small models of the protocols between instances, agents and the database: every order in
// which things can happen, for a few producers, instances and jobs. Where a decision is a pure function of the program,
// the model calls it. Each model has variants with one guard left out, which the search must find to be wrong: a search
// that finds nothing there proves nothing.
package model

import (
	"fmt"
	"strings"
	"testing"
)

// move is something that can happen in a state: to whom, by number, and what.
type move[S comparable] struct {
	to   S
	what string
	n    int
}

// protocol is a model: where it begins, what can happen, and what is wrong with a state; empty: nothing.
type protocol[S comparable] struct {
	begin S
	next  func(S) []move[S]
	wrong func(S) string
}

// bounds are how large a model is.
type bounds struct {
	instances int
	runs      uint8
}

// most is how many instances a state has room for: recorded jobs have met three.
const most = 3

// small is what is searched whole.
var small = bounds{instances: 2, runs: 3}

// aboveAll is above every fence that a small model, or a recording, has given out when another server comes.
const aboveAll = 20

// What is seen of a protocol from outside, beside the job's row, and what makes a server forget.
const (
	agentBegins   = "instance %d: its agent begins"
	agentDone     = "instance %d: its agent is done"
	agentFails    = "instance %d: its agent fails, or its answer is lost"
	serverCrashes = "server %d crashes"
	logLost       = "server %d is promoted, and the end of the log is lost"
)

// found is what a search has seen: how many states, and the shortest way to one that is wrong, if there is any.
type found struct {
	states int
	wrong  string
	way    []string
}

func (f found) String() string {
	if f.wrong == "" {
		return fmt.Sprintf("%d states, none is wrong", f.states)
	}
	return fmt.Sprintf("%s, after:\n  %s", f.wrong, strings.Join(f.way, "\n  "))
}

// search visits every state, the nearest first.
func (p protocol[S]) search() (f found) {
	came := map[S]move[S]{p.begin: {}} // the move by which each state was reached, and in `to` the state before
	for queue := []S{p.begin}; len(queue) > 0; queue = queue[1:] {
		s := queue[0]
		if f.states++; p.wrong(s) != "" {
			for f.wrong = p.wrong(s); s != p.begin; s = came[s].to {
				f.way = append([]string{fmt.Sprintf(came[s].what, came[s].n)}, f.way...)
			}
			return f
		}
		for _, m := range p.next(s) {
			if _, seen := came[m.to]; !seen {
				came[m.to] = move[S]{s, m.what, m.n}
				queue = append(queue, m.to)
			}
		}
	}
	return f
}

// holds fails if a state of the protocol is wrong.
func holds[S comparable](t *testing.T, p protocol[S]) {
	t.Helper()
	f := p.search()
	if f.wrong != "" {
		t.Error(f)
	}
	t.Log(f)
}

// needed fails for each guard without which the search finds no wrong state. The variants leave out one guard each.
func needed[S comparable](t *testing.T, variants map[string]protocol[S]) {
	t.Helper()
	for guard, p := range variants {
		t.Run(guard, func(t *testing.T) {
			f := p.search()
			if f.wrong == "" {
				t.Errorf("%s: the search does not notice that a guard is left out", f)
			}
			t.Log(f)
		})
	}
}
