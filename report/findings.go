package report

import (
	"context"
	"slices"
	"time"

	"bellhop/sql/view"
)

// Verdicts of findings.
const (
	Well = "ok"
	Note = "note" // worth knowing, and nothing is broken
	Mend = "mend"
)

// Finding is one thing that is not as it should be, with what mends it. All faces show these: bellhop doctor, the
// System page, GET /api/v1/findings, and /metrics by their codes. Doctor
// finds more, which have no code.
type Finding struct {
	Code    string   `json:"code,omitempty" required:"true" doc:"The kind of finding, in a stable word; bellhop_findings in /metrics has it too"`
	Check   string   `json:"check"` // what was looked at, in a word
	Verdict string   `json:"verdict" enum:"ok,note,mend"`
	Says    string   `json:"says"`
	Mend    string   `json:"mend" doc:"A command to type; may be empty"`
	SQL     []string `json:"-"` // or the statements that mend it
}

// Scene is what findings are made of: rows as one look at the database gives them.
type Scene struct {
	Now         time.Time // on this machine's clock
	Instances   []view.InstanceRow
	Hosts       []view.HostRow
	Agents      []view.AgentRow
	Children    []view.ChildRow
	Queue       []view.QueueRow
	Ended       []Ended // by type, in the last hour
	Messages    []view.MessagesRow
	Attachments []view.AttachmentRow
	Paused      []view.PausedRow
	Server      view.ServerRow
	Open        []view.OpenRow // for longer than OldAfter
	OldAfter    time.Duration
	Triggers    []view.TriggerRow
	Losses      []view.LossRow // that no operator has read
}

// Ended is how the jobs of a type have ended lately.
type Ended struct {
	Type              string
	Failed, Succeeded int64
}

// OldTransaction is for how long a transaction may be open.
const OldTransaction = 10 * time.Minute

// check is an entry of the list of findings. To add one is to add an entry, and what it looks at to the Scene. find
// gives what is wrong, each with what mends it; says is said where nothing is (empty: nothing).
type check struct {
	code, name string
	verdict    string
	find       func(Scene) []trouble
	says       func(Scene) string
}

// trouble is what a check found.
type trouble struct {
	says, mend string
	sql        []string
}

// Codes gives the codes of all findings that need mending, for metrics and alerts.
func Codes() (codes []string) {
	for _, c := range checks {
		if c.verdict == Mend {
			codes = append(codes, c.code)
		}
	}
	return codes
}

// Judge gives all that is found in a scene, and what is well.
func Judge(s Scene) []Finding { return judge(s, checks) }

// JudgeQueue leaves out the server, of which JudgeServer tells.
func JudgeQueue(s Scene) []Finding {
	return judge(s, slices.Concat(fleetChecks, workChecks, openChecks))
}

// JudgeServer gives what is found of the server alone.
func JudgeServer(s view.ServerRow) []Finding { return judge(Scene{Server: s}, serverChecks) }

func judge(s Scene, list []check) (findings []Finding) {
	for _, c := range list {
		found := c.find(s)
		for _, t := range found {
			findings = append(findings, Finding{c.code, c.name, c.verdict, t.says, t.mend, t.sql})
		}
		if len(found) == 0 && c.says != nil {
			findings = append(findings, Finding{Code: c.code, Check: c.name, Verdict: Well, Says: c.says(s)})
		}
	}
	return findings
}

// Count counts what needs mending, by code; codes of which nothing is found have 0.
func Count(all []Finding) map[string]int64 {
	counts := map[string]int64{}
	for _, code := range Codes() {
		counts[code] = 0
	}
	for _, f := range all {
		if f.Verdict == Mend {
			counts[f.Code]++
		}
	}
	return counts
}

// Troubles leaves out of findings what is well.
func Troubles(all []Finding) (list []Finding) {
	for _, f := range all {
		if f.Verdict != Well {
			list = append(list, f)
		}
	}
	return list
}

// LookAround gathers a scene: a dozen short statements, none of which reads the whole queue.
func LookAround(ctx context.Context, l view.Look) (s Scene, err error) {
	s.Now, s.OldAfter = time.Now(), OldTransaction
	var history []view.HistoryRow
	for _, look := range []func() error{
		func() error { s.Instances, err = l.Instances(ctx); return err },
		func() error { s.Hosts, err = l.Hosts(ctx); return err },
		func() error { s.Agents, err = l.Agents(ctx); return err },
		func() error { s.Children, err = l.Children(ctx); return err },
		func() error { s.Queue, err = l.Queue(ctx); return err },
		func() error { history, err = l.History(ctx, s.Now.Add(-time.Hour), time.Time{}, nil); return err },
		func() error { s.Messages, err = l.Messages(ctx); return err },
		func() error { s.Attachments, err = l.Attachments(ctx); return err },
		func() error { s.Paused, err = l.Paused(ctx); return err },
		func() error { s.Server, err = l.Server(ctx); return err },
		func() error { s.Open, err = l.Open(ctx, OldTransaction); return err },
		func() error { s.Triggers, err = l.Triggers(ctx); return err },
		func() error { s.Losses, err = l.Losses(ctx); return err },
	} {
		if look() != nil {
			return s, err
		}
	}
	s.Ended = endedOf(history)
	return s, nil
}

// endedOf sums the minutes of each type.
func endedOf(history []view.HistoryRow) (list []Ended) {
	at := map[string]int{}
	for _, h := range history {
		name := string(h.Type)
		i, is := at[name]
		if !is {
			i = len(list)
			at[name], list = i, append(list, Ended{Type: name})
		}
		list[i].Failed += h.Failed
		list[i].Succeeded += h.Succeeded
	}
	return list
}
