package grammar_test

import (
	"reflect"
	"testing"

	"bellhop/scheduler/grammar"
)

// What has no place of its own is shown if it has a value, by the grammar's name and sentence.
func TestOthers_AreTheFieldsThatNothingElseShows(t *testing.T) {
	t.Parallel()
	o := grammar.Object{Fields: []grammar.Field{
		{Name: "kind", Says: "The kind"}, {Name: "payer", Says: "The account that pays"}, {Name: "tags", Says: "Tags"},
		{Name: "none", Says: "Nothing"}, {Name: "elsewhere", Says: "Not of this row"},
	}}
	text := "4711"
	row := struct {
		Kind   string   `json:"kind"`
		Payer  *string  `json:"payer"`
		Tags   []string `json:"tags"`
		None   *string  `json:"none"`
		Beyond string   `json:"beyond"`
	}{"k", &text, []string{"a", "b"}, nil, "x"}
	want := []grammar.Shown{
		{Name: "payer", Says: "The account that pays", Text: "4711"},
		{Name: "tags", Says: "Tags", Text: "a b"},
	}
	if is := o.Others(row, "kind"); !reflect.DeepEqual(is, want) {
		t.Errorf("%+v, want %+v", is, want)
	}
}
