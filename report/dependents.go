package report

import (
	"strings"

	"bellhop/scheduler/words"
)

// becomes are the ends of jobs that need others, in words.
var becomes = []struct{ name, says string }{{"failed", "would fail"}, {"blocked", "would stay blocked until they succeed"},
	{"held", "would stay held"}, {"run", "would still run"}}

// Dependents says how many jobs need those that an order is for, and what becomes of them; empty: none does.
func Dependents(n map[string]int64) string {
	var all int64
	var parts []string
	for _, b := range becomes {
		if of := n[b.name]; of > 0 {
			all += of
			parts = append(parts, words.Grouped(of)+" "+b.says)
		}
	}
	switch {
	case n["wait"] == 1:
		return "1 other job waits for them"
	case n["wait"] > 0:
		return words.Grouped(n["wait"]) + " other jobs wait for them"
	case all == 0:
		return ""
	case all == 1:
		return "1 other job needs them: it " + strings.TrimPrefix(parts[0], "1 ")
	}
	return words.Grouped(all) + " other jobs need them: " + strings.Join(parts, ", ")
}
