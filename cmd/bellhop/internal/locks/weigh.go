// Package locks is the commands of job filters, and those that look at the policy of locks: what a job
// weighs, and what an order would have made of a workload. These need no database.
package locks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/scheduler/lock"
)

const weighExample = `{"pending":{"locks":{"node":{"Exclusive":["n1"]}}},"running":[{"locks":{"node":"AllShared"}}],"age_seconds":60}`

func WeighCommand(a *cli.App) *cobra.Command {
	var levels []string
	var explain bool
	c := &cobra.Command{
		Use:   "weigh",
		Short: "Compute the weight of a job beside others, from one case as JSON on stdin",
		Long: `Read one case, and print the weight of the pending job: its static value beside the
running jobs, and that value after its wait. The lighter job goes first.

A job's locks are an object of levels, each "None", "AllShared", "UnknownShared",
"AllExclusive", "UnknownExclusive", {"Shared":[names]}, {"Exclusive":[names]}, or an
object with both; a missing level is "None", and "locks":"BGL" is the big lock. Levels
and ageing are those of policy in the configuration (-c), or else Ganeti's.`,
		Example: "  bellhop weigh < case.json\n  echo '" + weighExample + "' | bellhop weigh",
		Args:    a.NoArgs(),
		RunE: func(*cobra.Command, []string) error {
			policy, err := policyOf(a)
			if err != nil {
				return err
			}
			if len(levels) > 0 {
				policy.Levels = levels
			}
			if err := policy.Levels.Check(); err != nil {
				return cli.Usage("weigh", cli.Flat(err.Error()), "--levels "+strings.Join(lock.GanetiLevels, ","))
			}
			if f, is := a.Stdin.(*os.File); is && term.IsTerminal(int(f.Fd())) {
				fmt.Fprintf(a.Stderr, "bellhop weigh reads one case as JSON, such as %s\nType it, and end it with Ctrl-D; or bellhop weigh < case.json\n", weighExample)
			}
			w, err := weigh(a.Stdin, policy)
			if err != nil {
				return cli.Usage("weigh", err.Error(), "echo '"+weighExample+"' | bellhop weigh")
			}
			if !explain {
				return a.PrintJSON(weightView{SPV: w.SPV, Weight: w.Weight})
			}
			return a.PrintJSON(explained(w))
		},
	}
	c.Flags().StringSliceVar(&levels, "levels", nil, "the `levels`, in place of the configured ones")
	c.Flags().BoolVar(&explain, "explain", false, "print the share of each level, and the running jobs behind it")
	return c
}

type weightView struct {
	SPV    float64     `json:"spv"`
	Weight float64     `json:"weight"`
	Factor *float64    `json:"factor,omitempty"`
	Levels []levelView `json:"levels,omitempty"`
}

type levelView struct {
	Level   string  `json:"level"`
	Pending string  `json:"pending"`
	Running string  `json:"running"`
	By      *int    `json:"by"` // of running, from 0; null: none adds anything
	Weight  float64 `json:"weight"`
}

func explained(w lock.Weight) weightView {
	v := weightView{SPV: w.SPV, Weight: w.Weight, Factor: &w.Factor}
	for _, l := range w.Levels {
		level := levelView{Level: l.Level, Pending: l.Pending.String(), Running: l.Running.String(), Weight: l.Weight}
		if l.By >= 0 {
			level.By = &l.By
		}
		v.Levels = append(v.Levels, level)
	}
	return v
}

// policyOf is the policy of the configuration: constants as they are there, and its
// levels, or Ganeti's where it has none.
func policyOf(a *cli.App) (lock.Policy, error) {
	c, err := a.LoadConfig()
	if err != nil {
		return lock.Policy{}, err
	}
	if len(c.Policy.Levels) == 0 {
		c.Policy.Levels = lock.GanetiLevels
	}
	return c.Policy, nil
}

// weigh reads one case, and weighs it.
func weigh(in io.Reader, p lock.Policy) (lock.Weight, error) {
	type job struct {
		Locks json.RawMessage `json:"locks"`
	}
	var c struct {
		Pending *job    `json:"pending"`
		Running []job   `json:"running"`
		Age     float64 `json:"age_seconds"`
	}
	d := json.NewDecoder(in)
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return lock.Weight{}, fmt.Errorf("there is no case on stdin: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return lock.Weight{}, fmt.Errorf("something follows the case, at byte %d", d.InputOffset())
	}
	if c.Pending == nil {
		return lock.Weight{}, fmt.Errorf("there is no pending job in the case")
	}
	pending, err := readLocks(c.Pending.Locks, "pending", p.Levels)
	if err != nil {
		return lock.Weight{}, err
	}
	running := make([]lock.Set, len(c.Running))
	for i, r := range c.Running {
		if running[i], err = readLocks(r.Locks, fmt.Sprintf("running[%d]", i), p.Levels); err != nil {
			return lock.Weight{}, err
		}
	}
	return p.Constants.Weigh(pending, running, p.Levels, seconds(c.Age)), nil
}

// seconds is a time that may be of any size.
func seconds(s float64) time.Duration {
	const most = float64(math.MaxInt64 / 2)
	return time.Duration(max(-most, min(most, math.Round(s*float64(time.Second)))))
}

// readLocks reads the locks of a job; none at all are no locks.
func readLocks(text json.RawMessage, where string, levels lock.Levels) (lock.Set, error) {
	if len(text) == 0 || string(text) == "null" {
		return lock.Set{}, nil
	}
	if text[0] == '"' {
		var word string
		if err := json.Unmarshal(text, &word); err != nil || word != "BGL" {
			return lock.Set{}, fmt.Errorf(`%s.locks is %s: it is an object of levels, or "BGL"`, where, text)
		}
		return lock.NewSet(lock.Want{Big: true}), nil
	}
	var byLevel map[string]json.RawMessage
	if err := json.Unmarshal(text, &byLevel); err != nil {
		return lock.Set{}, fmt.Errorf(`%s.locks: it is an object of levels, or "BGL"`, where)
	}
	var wants []lock.Want
	for _, level := range slices.Sorted(maps.Keys(byLevel)) {
		at := where + ".locks." + level
		if !slices.Contains(levels, level) {
			return lock.Set{}, fmt.Errorf("%s: there is no such level; the levels are %s", at, strings.Join(levels, ", "))
		}
		w, err := readKind(byLevel[level], level, where)
		if err != nil {
			return lock.Set{}, fmt.Errorf("%s is %s: %w", at, byLevel[level], err)
		}
		wants = append(wants, w...)
	}
	return lock.NewSet(wants...), nil
}

var errKind = errors.New(`it is "None", "AllShared", "UnknownShared", "AllExclusive", "UnknownExclusive", {"Shared":[names]} or {"Exclusive":[names]}`)

// readKind reads what is wanted at a level. An empty list is of its kind all the same, as in Ganeti: it stands for
// one name that no other job of the case can say.
func readKind(text json.RawMessage, level, where string) ([]lock.Want, error) {
	var word string
	if json.Unmarshal(text, &word) == nil && text[0] == '"' {
		w, known := map[string]lock.Want{
			"None":             {},
			"AllShared":        {Level: level, Scope: lock.All, Mode: lock.Shared},
			"UnknownShared":    {Level: level, Scope: lock.Unknown, Mode: lock.Shared},
			"AllExclusive":     {Level: level, Scope: lock.All, Mode: lock.Exclusive},
			"UnknownExclusive": {Level: level, Scope: lock.Unknown, Mode: lock.Exclusive},
		}[word]
		if !known {
			return nil, errKind
		}
		return []lock.Want{w}, nil
	}
	var named *struct{ Shared, Exclusive []string }
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&named); err != nil || named == nil {
		return nil, errKind
	}
	if nobodys := []string{"\x00" + where}; len(named.Shared)+len(named.Exclusive) == 0 {
		switch {
		case named.Exclusive != nil:
			named.Exclusive = nobodys
		case named.Shared != nil:
			named.Shared = nobodys
		}
	}
	var wants []lock.Want
	for _, name := range named.Shared {
		wants = append(wants, lock.Want{Level: level, Name: name, Mode: lock.Shared})
	}
	for _, name := range named.Exclusive {
		wants = append(wants, lock.Want{Level: level, Name: name, Mode: lock.Exclusive})
	}
	return wants, nil
}
