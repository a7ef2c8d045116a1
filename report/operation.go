package report

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"bellhop/scheduler/words"
	"bellhop/sql/view"
)

// verbWords are what operations do, as titles.
var verbWords = map[string]string{"cancel": "Cancel", "kill": "Kill", "retry": "Retry", "release": "Release", "hold": "Hold"}

// Order is what an operation does.
func Order(o view.OperationRow) string {
	if o.Priority != nil {
		return "Priority " + strconv.Itoa(*o.Priority)
	}
	return verbWords[o.Verb]
}

// filterNames are the parts of a filter, as the form of the jobs page has them.
var filterNames = []struct{ name, says string }{{"type", "type"}, {"state", "state"},
	{"key", "key begins with"}, {"error", "error has"}, {"failure", "error like"}, {"host", "on"}, {"run", "run"},
	{"id", "job"}, {"created_after", "submitted since"}, {"created_before", "submitted before"},
	{"ended_after", "ended since"}, {"ended_before", "ended before"}}

// OperationFilter is the filter of an operation in words, in which anything may stand that an app or an agent has said.
func OperationFilter(text json.RawMessage) string {
	var filter map[string]any
	if json.Unmarshal(text, &filter) != nil {
		return string(text)
	}
	var parts []string
	for _, f := range filterNames {
		switch v := filter[f.name].(type) {
		case nil:
		case []any:
			var list []string
			for _, one := range v[:min(len(v), 10)] {
				list = append(list, plain(one))
			}
			if len(v) > len(list) {
				list = append(list, "and "+words.Count(len(v)-len(list), "other"))
			}
			parts = append(parts, f.says+" "+strings.Join(list, ", "))
		default:
			parts = append(parts, f.says+" “"+plain(v)+"”")
		}
	}
	if filter["type"] == nil && filter["id"] == nil && len(parts) == 1 && filter["state"] != nil {
		parts = append([]string{"every job"}, parts...)
	}
	return strings.Join(parts, " · ")
}

// plain is a value of a filter.
func plain(v any) string {
	switch v := v.(type) {
	case string:
		if at, err := time.Parse(time.RFC3339Nano, v); err == nil {
			return words.Stamp(at)
		}
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	text, _ := json.Marshal(v) // it was JSON
	return string(text)
}

// Undoable reports whether an operation is one that can be undone at all.
func Undoable(o view.OperationRow) bool {
	return o.Planned <= 10_000 && slices.Contains([]string{"cancel", "hold", "priority"}, o.Verb)
}
