package scheduler

import "fmt"

// EndedAs is how a job that succeeded says that there was nothing to do: the
// column ended_as. Empty: it says nothing of the kind.
type EndedAs string

const (
	// NoData: there was no work. Jobs that need this one go on.
	NoData EndedAs = "no_data"
	// Skipped: neither this job nor what follows it is wanted this time. Jobs that need it to have succeeded are
	// skipped, too.
	Skipped EndedAs = "skipped"
)

// EndWords are those that an agent may say.
var EndWords = []string{string(NoData), string(Skipped)}

// ReadEndedAs reads how an agent says that it ended.
func ReadEndedAs(said string) (EndedAs, error) {
	switch as := EndedAs(said); as {
	case NoData, Skipped:
		return as, nil
	}
	return "", fmt.Errorf("%.40q is neither %q nor %q", said, NoData, Skipped)
}

// Words is how it is shown beside a state.
func (e EndedAs) Words() string {
	if e == NoData {
		return "no data"
	}
	return string(e)
}

// Ends are the exit codes by which the programs of a type say so.
type Ends map[int]EndedAs

// Answer adds to what a program has said what its exit code says. nil: that
// says nothing, and if it is not 0, the program failed.
func (e Ends) Answer(code int, said *Answer) *Answer {
	as := e[code]
	if as == "" {
		return nil
	}
	a := Answer{EndedAs: as}
	if said != nil {
		a.Result = said.Result
	}
	return &a
}
