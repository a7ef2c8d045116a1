// Package verb has each thing that can be done, once: to what, by which role, in which words, and how. REST, the pages
// and the commands are faces of its table. What is done is done under the role of the caller: rights are PostgreSQL's,
// and a role in the table says what they are.
package verb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"bellhop/scheduler"
	"bellhop/scheduler/notice"
	"bellhop/sql/view"
)

// Thing is what a verb is done to.
type Thing struct {
	Word string // its name in forms, too
	Next string // what to type when there is none of that name
	Hint string // the same, as commands say it
	As   string // the command that could not find it; empty: the verb's
}

// The things of this program that verbs change.
var (
	Job       = Thing{Word: "job", Next: "bellhop ls"}
	Type      = Thing{Word: "type", Next: "bellhop agents"}
	Instance  = Thing{Word: "instance", Next: "bellhop ui"}
	Operation = Thing{Word: "operation", Next: "bellhop operation ls", Hint: "bellhop operation ls", As: "operation"}
	Workflow  = Thing{"workflow", "bellhop workflow ls", "bellhop workflow ls   shows the workflows there are", ""}
	Run       = Thing{"run", "bellhop workflow ls", "bellhop workflow show NAME   shows the runs of a workflow", ""}
	Rule      = Thing{"rule", "bellhop workflow notify ls", "bellhop workflow notify ls   shows the rules there are", ""}
	Filter    = Thing{"filter", "bellhop filter list", "bellhop filter list   shows the filters there are", ""}
)

// Role is the least that may do something.
type Role string

// The roles of the table.
const (
	Owner    Role = "owner"    // the submitter of a job, and operators
	Operator Role = "operator" // operators
)

// Verb is one thing that can be done.
type Verb struct {
	Name    string // of the order of a page, too: POST /do/NAME
	To      Thing
	By      Role
	Says    string // what stands on a button
	Summary string // what it does, as REST and the command say it
	Done    string // what is said afterwards
	Line    string // the command; {} stands for the thing
	Route   string // the method and the path of the request; {} stands for the thing
	Body    string // of the request
	Calls   string // the functions of bellhop that do it, which have its rights
	// NoPage, NoRoute and NoLine say why a face has it not, or not by itself.
	NoPage, NoRoute, NoLine string
	NoTool                  string // the same of programs that speak MCP

	did func(view.Change) bool // of a job: whether it was changed
	do  func(context.Context, view.Look, In) (Out, error)
}

// In is what is to be done something to, and with what.
type In struct {
	Jobs    []scheduler.JobID
	ID      int64  // of an instance, an operation, a run or a rule; 0: of one that is to be
	Name    string // of a type, a workflow, a filter or an instance; empty: all
	Version *int   // that the caller has seen; nil: whichever there is
	Back    int    // the version that is to be in force again
	Edit    view.Edit
	Sealing view.Sealing // of the edit
	By      view.ByHand
	From    string // the step to begin with, of a workflow or of a job's own
	Order   string // what an operation does
	Match   []byte // the filter of an operation
	Rule    notice.Rule
	Active  *bool // nil: as it is; of a new rule: true
	Filter  view.FilterRow
	Share   view.ShareRow
	Ended   view.PruneFilter
	Past    int64 // where the last piece of work ended
}

// Out is what was done.
type Out struct {
	Jobs     []view.Change // in the order of their ids
	N        int           // how many jobs were changed, steps run again, or instances start workflows; the version
	ID       int64         // of the operation, run or rule that was made
	Name     string        // of the filter; the state of the operation
	Changed  bool          // false: it was so already
	Still    bool          // everything is paused, this type included
	Messages []int64
	// Definition is the one that is in force again.
	Definition []byte
	Past       *int64 // where to go on; nil: nothing is left
}

// Missing is the error of a verb whose thing there is not.
type Missing struct {
	Verb
	Thing
	Name string
}

func (m *Missing) Error() string { return "there is no " + m.Word + " " + m.Name }

// Command is what the command is called that found nothing.
func (m *Missing) Command() string { return cmp.Or(m.As, m.Verb.Command()) }

// Command is the words of the command that does it, without bellhop.
func (v Verb) Command() string {
	words := strings.TrimPrefix(v.Line, "bellhop ")
	if at := strings.IndexAny(words, "{-'"); at >= 0 {
		words = words[:at]
	}
	return strings.TrimSpace(words)
}

// Tool is its name for programs that speak MCP.
func (v Verb) Tool() string {
	name := v.Command()
	if v.To == Job || v.To == Type || v.Name == "shutdown" { // their commands differ by flags alone
		name = v.Name
	}
	return strings.ReplaceAll(name, " ", "_")
}

// Unfit is the error of a value that cannot be right.
type Unfit struct {
	Verb
	Err  error
	Next string // what shows values that can
}

func (u *Unfit) Error() string { return u.Err.Error() }

var errMissing = errors.New("there is no such thing")

// Of gives a verb; that it is in the table, a test of each face holds.
func Of(name string) Verb {
	for _, v := range All {
		if v.Name == name {
			return v
		}
	}
	panic("no verb " + name)
}

// Do carries a verb out, under the role of the caller. The error is a *Missing where there is no such thing, an *Unfit
// for a value that cannot be right, or the database's.
func Do(ctx context.Context, l view.Look, name string, in In) (Out, error) {
	return Of(name).Do(ctx, l, in)
}

// Do carries it out.
func (v Verb) Do(ctx context.Context, l view.Look, in In) (Out, error) {
	out, err := v.do(ctx, l, in)
	var unfit *Unfit
	if errors.As(err, &unfit) {
		unfit.Verb = v
	}
	for _, c := range out.Jobs {
		if v.did != nil && v.did(c) {
			out.N++
		}
	}
	if errors.Is(err, errMissing) {
		err = &Missing{v, v.To, in.name(v.To)}
	}
	return out, err
}

func (in In) name(of Thing) string {
	switch {
	case of == Job:
		return fmt.Sprint(in.Jobs)
	case in.ID != 0:
		return fmt.Sprint(in.ID)
	}
	return in.Name
}

// Typed is the command that does it to a thing, and with what besides. Both are quoted already.
func (v Verb) Typed(thing, with string) string { return filled(v.Line, thing, with) }

// Asked is the request that does it to a thing, and with what besides. Both are escaped already.
func (v Verb) Asked(thing, with string) (method, path, body string) {
	method, path, _ = strings.Cut(filled(v.Route, thing, with), " ")
	return method, path, filled(v.Body, thing, with)
}

func filled(text, thing, with string) string {
	return strings.NewReplacer("{}", thing, "{with}", with).Replace(text)
}
