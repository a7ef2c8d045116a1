package api

import (
	"context"
	"strings"

	"bellhop/report"
	"bellhop/sql/view"
)

// Findings are all of them.
type Findings struct {
	OK       bool             `json:"ok"`
	Findings []report.Finding `json:"findings" nullable:"false"`
}

func findings(ctx context.Context, l view.Look, _ *struct{}) (f Findings, err error) {
	scene, err := report.LookAround(ctx, l)
	if err != nil {
		return f, err
	}
	f = Findings{OK: true, Findings: []report.Finding{}}
	for _, one := range report.Troubles(report.Judge(scene)) {
		f.OK = f.OK && one.Verdict != report.Mend
		one.Mend = strings.Join(one.SQL, "; ") + one.Mend
		f.Findings = append(f.Findings, one)
	}
	return f, nil
}
