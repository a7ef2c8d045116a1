package view

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"bellhop/scheduler"
	"bellhop/seal"
)

// Seal seals the args and vars of a job that is to be submitted, but vars that are to stay plain. Under a key of its
// own the same job gives the same envelopes, so that the queue knows it when it comes again. Without keys nothing is
// done.
func (s *Submission) Seal(keys *seal.Keys, plain []string) error {
	if keys == nil {
		return nil
	}
	if s.MSQ != nil {
		return errors.New("a query cannot be sealed: it runs in the database; seal what its columns hold, and submit it without keys")
	}
	if err := sealable(s.Type, s.Vars); err != nil {
		return err
	}
	for _, name := range plain {
		if _, there := s.Vars[name]; !there {
			return fmt.Errorf("var %s is to stay plain, and the job has no such var", name)
		}
	}
	again := s.Key
	if s.Once != nil && *s.Once != "ever" { // the queue does not compare
		again = nil
	}
	envelope := sealing(keys, s.Type, again)
	if s.Args != nil {
		sealed, err := envelope(seal.Args, *s.Args)
		if err != nil {
			return err
		}
		s.Args = &sealed
	}
	vars := maps.Clone(s.Vars)
	for name, text := range vars {
		if slices.Contains(plain, name) {
			continue
		}
		sealed, err := envelope(seal.Var(name), text)
		if err != nil {
			return err
		}
		vars[name] = sealed
	}
	s.Vars = vars
	return nil
}

// rjmConfig is the var that has the configuration of a job of RJM.
const rjmConfig = "RJM_CONFIG"

// sealable refuses jobs whose texts are not opened for an agent of their type.
func sealable(of scheduler.TypeName, vars map[string]string) error {
	_, config := vars[rjmConfig]
	switch {
	case of == "command":
		return errors.New("a job of type command cannot be sealed: the database carries it out, and reads its args; submit it without keys")
	case of == scheduler.RJMType, config:
		return errors.New("a job of RJM cannot be sealed: rjmproc, which runs it, has no keys; " +
			"keep the secret in a file that the job reads, and set the job up without keys: rjmsetup")
	}
	return nil
}

// sealing seals the texts of a job. again is the key under which the queue compares the job with itself; nil: none.
func sealing(keys *seal.Keys, of scheduler.TypeName, again *string) func(at, text string) (string, error) {
	return func(at, text string) (string, error) {
		place := seal.Place{Type: string(of), At: at}
		if again != nil {
			return keys.SealAgain(place, *again, text)
		}
		return keys.Seal(place, text)
	}
}

// Sealed reports whether the args are an envelope.
func (p PayloadRow) Sealed() bool {
	if p.Args == nil {
		return false
	}
	_, sealed := seal.KeyOf(*p.Args)
	return sealed
}

// Shown is the payload as people see it: of what is sealed, with which key.
func (p PayloadRow) Shown() PayloadRow {
	p.Args = shown(p.Args)
	vars := maps.Clone(p.Vars)
	for name, text := range vars {
		vars[name] = seal.Shown(text)
	}
	p.Vars = vars
	return p
}

func shown(text *string) *string {
	if text == nil {
		return nil
	}
	s := seal.Shown(*text)
	return &s
}
