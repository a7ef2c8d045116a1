package page

import (
	"cmp"
	"slices"
	"time"

	"bellhop/report"
	"bellhop/sql/view"
)

type systemData struct {
	Findings  []report.Finding
	Server    view.ServerRow
	Growth    []view.GrowthRow
	Open      []view.OpenRow
	Instances []view.InstanceRow
	Version   string
}

// system keeps what it has found for a while: a look takes thirteen statements, which the pulse reckons as five.
func system(r *request) (content, error) {
	d, err := r.found(foundFresh)
	d.Version = r.pages.Version
	return content{Title: "System", Template: "system", Data: d}, err
}

// found is what a look has found no longer ago than age.
func (r *request) found(age time.Duration) (systemData, error) {
	return remembered(r.pages, r.who.Role, foundKey, age, func() (d systemData, err error) {
		if d.Growth, err = r.Look.Growth(r); err != nil {
			return d, err
		}
		scene, err := report.LookAround(r, r.Look)
		if err != nil {
			return d, err
		}
		d.Server, d.Open, d.Instances = scene.Server, scene.Open, scene.Instances
		d.Findings = report.Judge(scene)
		slices.SortStableFunc(d.Findings, func(a, b report.Finding) int { return cmp.Compare(gravity(a), gravity(b)) })
		return d, nil
	})
}

// gravity puts what needs mending first, and what is well last.
func gravity(f report.Finding) int {
	return slices.Index([]string{report.Mend, report.Note, report.Well}, f.Verdict)
}
