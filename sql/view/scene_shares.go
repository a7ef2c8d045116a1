package view

import (
	"context"
	"slices"
	"time"

	"bellhop/scheduler/fair"
	"bellhop/scheduler/lock"
	"bellhop/sql"
)

// keysMost is how many keys of shares a forecast looks at.
const keysMost = 10_000

var (
	lookShareBesideSQL = sql.Query("look_share_beside")
	lookShareOfSQL     = sql.Query("look_share_of")
	lookStandingSQL    = sql.Query("look_standing")
	lookWeightsSQL     = sql.Query("look_weights")
)

// shared adds the jobs with shares and without locks that wait, about so many, and the order in which keys take turns.
func (l Look) shared(ctx context.Context, s *lock.Scene, most int) error {
	rows, err := collect[struct {
		Job      int64
		Type     string
		Priority int
		Share    string
		Age      float64
	}](ctx, l.db, "read jobs with shares", lookShareBesideSQL, most)
	if err != nil {
		return err
	}
	for _, r := range rows {
		s.Jobs = append(s.Jobs, lock.Seen{Job: lock.ID(r.Job), Type: r.Type, Priority: r.Priority, Share: r.Share,
			Beside: true, Place: 1, Since: s.Now.Add(-time.Duration(r.Age * float64(time.Second)))})
	}
	if !slices.ContainsFunc(s.Jobs, func(j lock.Seen) bool { return j.Share != "" }) {
		return nil
	}
	s.Shares, err = l.standing(ctx)
	return err
}

// standing is where keys of shares stand, and their weights.
func (l Look) standing(ctx context.Context) (s lock.Shares, err error) {
	if s.Weights, err = l.Weights(ctx); err != nil {
		return s, err
	}
	rows, err := collect[struct {
		Type     string
		Priority int
		Now      float64
		fair.Standing
	}](ctx, l.db, "read where keys of shares stand", lookStandingSQL, keysMost)
	for _, r := range rows {
		if n := len(s.Lines); n == 0 || s.Lines[n-1].Type != r.Type || s.Lines[n-1].Priority != r.Priority {
			s.Lines = append(s.Lines, lock.Standing{Type: r.Type, Priority: r.Priority, Now: r.Now})
		}
		line := &s.Lines[len(s.Lines)-1]
		line.Keys = append(line.Keys, r.Standing)
	}
	return s, err
}

// Weights are those of the keys of shares, by type; a key that is not there has 1.
func (l Look) Weights(ctx context.Context) (map[string]map[string]float64, error) {
	rows, err := collect[struct {
		Type, Name string
		Weight     float64
	}](ctx, l.db, "read weights of shares", lookWeightsSQL, keysMost)
	weights := map[string]map[string]float64{}
	for _, r := range rows {
		if weights[r.Type] == nil {
			weights[r.Type] = map[string]float64{}
		}
		weights[r.Type][r.Name] = r.Weight
	}
	return weights, err
}

// ShareOf is the share that a job gets when it is submitted: its own, or what its type's template makes; empty: none.
func (l Look) ShareOf(ctx context.Context, s Submission) (string, error) {
	switch {
	case s.Share != nil:
		return *s.Share, nil
	case len(s.Vars) == 0: // a template names at least one
		return "", nil
	}
	return value[string](ctx, l.db, "ask for a job's share", lookShareOfSQL, string(s.Type), s.Args, s.Key, s.Vars)
}
