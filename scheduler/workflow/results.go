package workflow

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// result is what stands for the result of a step, or for a field of it: steps.NAME.result, steps.NAME.result.FIELD.
var result = regexp.MustCompile(`^steps\.[A-Za-z0-9_.-]+\.result(\.[^{}.]+)*$`)

// stepOf is the step in such a text: up to the first .result. bellhop.results_named says the same.
func stepOf(text string) string {
	rest := strings.TrimPrefix(text, "steps.")
	for i := 1; i < len(rest); i++ {
		after, is := strings.CutPrefix(rest[i:], ".result")
		if is && (after == "" || after[0] == '.') {
			return rest[:i]
		}
	}
	return rest
}

// result checks what stands for a result: a step can take that of a step that it needs, also by way of others.
func (c *check) result(step int, field string, part Part) {
	switch from, there := c.first[part.Step]; {
	case field != "args" && field != "vars":
		c.fault(step, field, -1, "results are for args and vars", "%s may not stand in %s", part.Text, field)
	case part.Step == c.Steps[step].Name:
		c.fault(step, field, -1, "leave it out", "step %q cannot take its own result", part.Step)
	case !there:
		c.fault(step, field, -1, "a step is named by its name", "there is no step %q", part.Step)
	case !c.needs(step, from):
		c.fault(step, field, -1, fmt.Sprintf("name %q in after", part.Step), "step %q takes the result of %q, and does not need it",
			c.Steps[step].Name, part.Step)
	}
}

// needs reports whether a step needs another one, also by way of others.
func (c *check) needs(step, other int) bool {
	if slices.Contains(c.Steps[step].After, c.Steps[other].Name) {
		return true
	}
	seen := map[int]bool{step: true}
	for way := []int{step}; len(way) > 0; {
		s := c.Steps[way[len(way)-1]]
		way = way[:len(way)-1]
		for _, name := range s.After {
			at, there := c.first[name]
			switch {
			case !there || seen[at]:
			case at == other:
				return true
			default:
				seen[at] = true
				way = append(way, at)
			}
		}
	}
	return false
}
