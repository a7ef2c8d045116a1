package page

import (
	"cmp"
	"slices"
	"strings"

	"bellhop/scheduler"
	"bellhop/scheduler/words"
	"bellhop/sql/view"
)

// The overview says of so many types what would change their wait, and lists so many reasons, each with so many types.
const (
	whyMost   = 24
	waitsMost = 50
	namesMost = 12
)

// waiting is a type whose jobs wait.
type waiting struct {
	view.WaitRow
	Reason *view.WhyRow
}

// marked reports whether an instance has found what its first job waits for, besides its turn.
func (w waiting) marked() bool { return w.Why != "" }

// wait is a reason, and the types whose jobs wait for it, those first that wait longest.
type wait struct {
	Says, Next string
	Code       string
	Stuck      bool // waiting alone does not change it
	Types      []waiting
	Jobs       int64
	Age        float64
	Others     int // types that are not named
}

// One is the type, if it is only one.
func (w wait) One() *waiting {
	if len(w.Types) == 1 {
		return &w.Types[0]
	}
	return nil
}

// Together is how many types the row stands for.
func (w wait) Together() int { return len(w.Types) + w.Others }

// why asks what would change the wait of the types that wait longest: first of those that an instance has marked.
func (d *overviewData) why(r *request) error {
	asked := slices.Clone(d.Waits)
	slices.SortStableFunc(asked, func(a, b waiting) int { return -cmp.Compare(stand(a.marked()), stand(b.marked())) })
	half := min(len(asked), whyMost/2) // the others have the rest, if there are many of each
	if turn := slices.IndexFunc(asked, func(w waiting) bool { return !w.marked() }); turn > half {
		asked = slices.Concat(asked[:half], asked[turn:], asked[half:turn])
	}
	var ids []scheduler.JobID
	for _, w := range asked[:min(len(asked), whyMost)] {
		if w.First != nil {
			ids = append(ids, *w.First)
		}
	}
	reasons, err := r.Look.Why(r, ids)
	if err != nil {
		return err
	}
	for i := range reasons {
		for j := range d.Waits {
			if w := &d.Waits[j]; w.First != nil && *w.First == reasons[i].ID {
				w.Reason = &reasons[i]
			}
		}
	}
	d.Reasons = foldWaits(d.Waits)
	return nil
}

func stand(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// foldWaits puts types together that wait for the same. What waiting alone does not change comes first. Values in,
// rows out.
func foldWaits(list []waiting) (rows []wait) {
	at := map[string]int{}
	for _, w := range list {
		row, key := reasonOf(w)
		i, has := at[key]
		if !has {
			i = len(rows)
			at[key], rows = i, append(rows, row)
		}
		rows[i].Types = append(rows[i].Types, w)
		rows[i].Jobs += w.Jobs
		rows[i].Age = max(rows[i].Age, w.Age)
	}
	for i := range rows {
		if w := &rows[i]; len(w.Types) > 1 {
			w.together()
			w.Others = max(0, len(w.Types)-namesMost)
			w.Types = w.Types[:len(w.Types)-w.Others]
		}
	}
	slices.SortStableFunc(rows, func(a, b wait) int {
		return cmp.Or(-cmp.Compare(stand(a.Stuck), stand(b.Stuck)), cmp.Compare(b.Age, a.Age))
	})
	return rows
}

// noAgent is why the jobs of a type wait that no live instance has an agent of.
const noAgent = "unknown_type"

// reasonOf is the row of a type, and what is the same for all types of that row.
func reasonOf(w waiting) (row wait, key string) {
	code, detail, _ := strings.Cut(w.Why, ":")
	switch {
	case w.Reason != nil:
		row = wait{Says: w.Reason.Sentence, Next: w.Reason.Next, Code: w.Reason.Code, Stuck: w.Reason.Stuck}
		switch head, _, _ := strings.Cut(row.Says, ": "); row.Code {
		case noAgent:
			return row, noAgent
		case "no_room", "host_down", "queued":
			return row, row.Code + head
		}
		return row, row.Code + row.Says
	case code == noAgent:
		return wait{
			Says:  "No running instance has an agent of type " + words.Clean(string(w.Type)) + ".",
			Next:  "add it under agents in bellhop.yaml, then: bellhop reload",
			Code:  noAgent,
			Stuck: true,
		}, noAgent
	case w.marked():
		says := strings.ReplaceAll(code, "_", " ")
		says = strings.ToUpper(says[:min(1, len(says))]) + says[min(1, len(says)):]
		if detail = strings.TrimSpace(detail); detail != "" {
			says += ": " + detail
		}
		return wait{Says: says + ".", Code: code, Next: "bellhop explain " + words.Number(w.First)}, w.Why
	}
	return wait{Says: "Its turn has not come. The page of the type says what is before it.", Code: "queued"}, ""
}

// together says of several types what they wait for.
func (w *wait) together() {
	for _, t := range w.Types {
		if t.Reason != nil && t.Reason.Next != w.Next {
			w.Next = ""
		}
	}
	head, _, cut := strings.Cut(w.Says, ": ")
	switch {
	case w.Code == noAgent:
		w.Says = "No running instance has an agent of these types."
	case w.Code == "":
		w.Says = "Their turn has not come. The page of a type says what is before it."
	case cut && (w.Code == "no_room" || w.Code == "host_down" || w.Code == "queued"):
		w.Says = strings.NewReplacer("that it may", "that they may").Replace(head) + "."
	}
}
