package grammar_test

import (
	"fmt"
	"go/format"
	"strings"
	"testing"

	"bellhop/scheduler/grammar"
)

// inGo are the types of a submission's fields, by kind. What is left out is zero.
var inGo = map[grammar.Kind]string{
	grammar.Word: "*string", grammar.Text: "*string", grammar.Whole: "int", grammar.Count: "int32", grammar.Long: "*time.Duration",
	grammar.Flag: "bool", grammar.Words: "[]string", grammar.Pairs: "map[string]string", grammar.Time: "*time.Time",
	grammar.ID: "*scheduler.JobID", grammar.IDs: "[]scheduler.JobID",
}

// submissionStruct is sql/view/submission.go.
func submissionStruct(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(`// Code generated from scheduler/grammar by make generate. DO NOT EDIT.

package view

import (
	"time"

	"bellhop/scheduler"
)

// Submission is a job to be. Nil and zero fields are left to the defaults of bellhop.submit. Its fields are the
// function's arguments, and docs/reference.md says what they mean. Spans of time begin now on the database's clock; one
// counts if the time itself is nil. The caller's form has args as text or JSON, and spans as text.
type Submission struct {
`)
	for _, f := range grammar.Submission.Fields {
		name, kind, tag := f.In(grammar.Go), inGo[f.Kind], fmt.Sprintf(`json:"%s,omitempty"`, f.Name)
		switch {
		case f.Name == "type":
			kind, tag = "scheduler.TypeName", `json:"type"`
		case f.Name == "args":
			tag = `json:"-" sql:"args"`
		case f.Kind == grammar.Long:
			tag = fmt.Sprintf(`json:"-" sql:"%s,span"`, f.Name)
		}
		fmt.Fprintf(&b, "%s %s `%s`\n", name, kind, tag)
		if f.Kind == grammar.Time {
			fmt.Fprintf(&b, "%sIn *time.Duration `json:\"-\" sql:\"%s,in\"`\n", strings.TrimSuffix(name, "At"), f.Name)
		}
	}
	text, err := format.Source([]byte(b.String() + "}\n"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
