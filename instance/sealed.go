package instance

import (
	"encoding/json"
	"errors"
	"sync/atomic"
	"time"

	"bellhop/scheduler"
	"bellhop/seal"
)

// Opener opens lines just before agents get them, with the keys that it has at the time.
type Opener struct {
	keys atomic.Pointer[seal.Keys] // nil: none
}

// Take has lines opened with these keys from now on; nil: with none.
func (o *Opener) Take(keys *seal.Keys) { o.keys.Store(keys) }

// Open gives a line as its agent gets it: a copy where something of it is sealed. The error is a
// *scheduler.SealedError.
func (o *Opener) Open(typ scheduler.TypeName, line *scheduler.Line) (*scheduler.Line, error) {
	if !seal.Among(line.Args) && !seal.Among(string(line.Vars)) {
		return line, nil
	}
	opened, err := o.open(string(typ), *line)
	var lacks *seal.NoKey
	switch {
	case err == nil:
		return &opened, nil
	case errors.As(err, &lacks):
		age := time.Duration(0)
		if at := line.Submitted(); !at.IsZero() {
			age = time.Since(at)
		}
		return nil, scheduler.LacksKey(lacks.Error(), age)
	}
	return nil, &scheduler.SealedError{Why: "sealed_broken: " + err.Error()}
}

func (o *Opener) open(typ string, line scheduler.Line) (scheduler.Line, error) {
	keys := o.keys.Load()
	plain := func(at, text string) (string, error) { return keys.Open(seal.Place{Type: typ, At: at}, text) }
	var err error
	if vars := line.Vars.Map(); vars != nil {
		for name, text := range vars {
			if vars[name], err = plain(seal.Var(name), text); err != nil {
				return line, err
			}
		}
		text, err := json.Marshal(vars)
		if err != nil {
			return line, err
		}
		line.Vars = scheduler.Vars(text)
	}
	if line.Item == 0 {
		line.Args, err = plain(seal.Args, line.Args)
		return line, err
	}
	columns := make([]scheduler.Column, len(line.Columns))
	for i, c := range line.Columns {
		columns[i].Name = c.Name
		if columns[i].Value, err = plain(seal.Item(c.Name), c.Value); err != nil {
			return line, err
		}
	}
	line.Columns, line.Args = columns, scheduler.Pairs(columns)
	return line, nil
}
