package view

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"bellhop/scheduler"
	"bellhop/seal"
	"bellhop/sql"
)

var lookSealingSQL = sql.Query("look_sealing")

// Sealing is how an edit seals the new args and vars of jobs.
type Sealing struct {
	Keys *seal.Keys // nil: it does not
	// All has jobs sealed that were not. Without it only those are that are sealed already.
	All bool
}

// UnsealableError is why an edit could not be sealed. Nothing was changed.
type UnsealableError struct {
	Job  scheduler.JobID // 0: each
	Type scheduler.TypeName
	err  error
}

func (e *UnsealableError) Error() string {
	if e.Job == 0 {
		return e.err.Error()
	}
	return fmt.Sprintf("the new text of job %d cannot be sealed: %v", e.Job, e.err)
}

func (e *UnsealableError) Unwrap() error { return e.err }

// sealingRow is a job whose new args or vars are to be sealed, with the beginning of each text that it has.
type sealingRow struct {
	ID   scheduler.JobID
	Type scheduler.TypeName
	Key  *string
	Args *string
	Vars map[string]string
}

// sealedBy is the key with which the job is sealed.
func (r sealingRow) sealedBy() (key string, sealed bool) {
	if r.Args != nil {
		if key, sealed = seal.KeyOf(*r.Args); sealed {
			return key, true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Vars)) {
		if key, sealed = seal.KeyOf(r.Vars[name]); sealed {
			return key, true
		}
	}
	return "", false
}

// EditSealing is Edit that seals the new args and vars of each job first: with the key of the job, where it is sealed
// already. A text stays plain where a sealed job has a plain one, and so does what is an envelope. What the keys do not
// fit is an *UnsealableError.
func (l Look) EditSealing(ctx context.Context, ids []scheduler.JobID, e Edit, with Sealing) ([]Change, error) {
	if with.Keys == nil || e.Args == nil && e.Vars == nil && (e.MSQ == nil || !with.All) {
		return l.Edit(ctx, ids, e)
	}
	if e.MSQ != nil && with.All {
		return nil, &UnsealableError{err: errors.New("a query cannot be sealed: it runs in the database; seal what its columns hold, " +
			"and change it without keys")}
	}
	rows, err := collect[sealingRow](ctx, l.db, "look how the jobs are sealed", lookSealingSQL, ids)
	if err != nil {
		return nil, err
	}
	args, vars := make([]*string, len(ids)), make([]*string, len(ids))
	for _, row := range rows {
		own, err := e.sealedFor(row, with)
		if err != nil {
			return nil, &UnsealableError{Job: row.ID, Type: row.Type, err: err}
		}
		at := slices.Index(ids, row.ID)
		args[at] = own.Args
		if own.Vars != nil {
			text, _ := json.Marshal(own.Vars) // texts alone
			vars[at] = new(string(text))
		}
	}
	each := map[string][]*string{"args": args, "vars": vars}
	if e.Args == nil {
		delete(each, "args")
	}
	if e.Vars == nil {
		delete(each, "vars")
	}
	e.Args, e.Vars = nil, nil
	return l.edit(ctx, ids, e, each)
}

// sealedFor is the edit of one job, with its texts sealed.
func (e Edit) sealedFor(row sealingRow, with Sealing) (Edit, error) {
	key, sealed := row.sealedBy()
	if !sealed && !with.All {
		return e, nil
	}
	if err := sealable(row.Type, row.Vars); err != nil {
		return e, err
	}
	keys := with.Keys
	if sealed {
		var err error
		if keys, err = keys.By(key); err != nil {
			return e, err
		}
	}
	envelope := sealing(keys, row.Type, row.Key)
	become := func(at, now string, has bool, text string) (string, error) {
		_, hasEnvelope := seal.KeyOf(now)
		_, isEnvelope := seal.KeyOf(text)
		if isEnvelope || sealed && has && !hasEnvelope {
			return text, nil
		}
		return envelope(at, text)
	}
	if e.Args != nil {
		now := ""
		if row.Args != nil {
			now = *row.Args
		}
		text, err := become(seal.Args, now, row.Args != nil, *e.Args)
		if err != nil {
			return e, err
		}
		e.Args = &text
	}
	e.Vars = maps.Clone(e.Vars)
	for name, text := range e.Vars {
		now, has := row.Vars[name]
		sealed, err := become(seal.Var(name), now, has, text)
		if err != nil {
			return e, err
		}
		e.Vars[name] = sealed
	}
	return e, nil
}

// eachOf are arguments of bellhop.edit that differ from job to job, as a call has them: lists in the order of the ids.
func eachOf(each map[string][]*string, args []any) ([]string, []any) {
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(each)) {
		args = append(args, each[name])
		kind := map[string]string{"args": "text", "vars": "jsonb"}[name]
		texts = append(texts, fmt.Sprintf("%s => (($%d::text[])[array_position($1::bigint[], j.id)])::%s", name, len(args), kind))
	}
	return texts, args
}

// editCall is the statement that edits jobs.
func editCall(texts []string) string {
	return strings.Replace(lookEditSQL, "{arguments}", strings.Join(append([]string{"j.id"}, texts...), ", "), 1)
}
