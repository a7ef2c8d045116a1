package api

import (
	"context"
	"strings"

	"bellhop/report"
	"bellhop/sql/store"
)

// Finding is what is not as it should be, with the line that mends it. bellhop
// doctor has these, and those that only the machine itself can tell.
type Finding struct {
	Code    string `json:"code"    doc:"The kind of finding, in a stable word; bellhop_findings in /metrics has it too"`
	Check   string `json:"check"`
	Verdict string `json:"verdict" enum:"ok,note,mend"`
	Says    string `json:"says"`
	Mend    string `json:"mend"                        doc:"A command to type; may be empty"`
}

// Findings are all of them.
type Findings struct {
	OK       bool      `json:"ok"`
	Findings []Finding `json:"findings" nullable:"false"`
}

func findings(ctx context.Context, l store.Look, _ *struct{}) (f Findings, err error) {
	scene, err := report.LookAround(ctx, l)
	if err != nil {
		return f, err
	}
	f = Findings{OK: true, Findings: []Finding{}}
	for _, one := range report.Troubles(report.Judge(scene)) {
		f.OK = f.OK && one.Verdict != report.Mend
		mend := strings.Join(one.SQL, "; ") + one.Mend
		f.Findings = append(f.Findings, Finding{one.Code, one.Check, one.Verdict, one.Says, mend})
	}
	return f, nil
}
