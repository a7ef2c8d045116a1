package config

import (
	"regexp"
	"strconv"
	"strings"
)

// Bounds of what a child may take: less memory than that runs no program.
const (
	memoryLeast, memoryMost = 1 << 20, 1 << 41
	cpuLeast, cpuMost       = 0.01, 1024
)

// memorySize is an amount of memory: each unit is 1024 of the one before, as in PostgreSQL.
var memorySize = regexp.MustCompile(`^([0-9]{1,12}) ?(k|M|G|T)i?B$`)

// memory reads how much memory a child takes at most, in bytes; 0: as much as there is.
func (r *reader) memory(to *int64) func(node, string) {
	return func(n node, at string) {
		const hint = "write it like 512MB or 2GB"
		text := n.GetToken().Value
		if *to = 0; text == "0" {
			return
		}
		m := memorySize.FindStringSubmatch(text)
		if m == nil {
			r.problem(n, hint, "%s is %q, and no size", at, text)
			return
		}
		size, _ := strconv.ParseInt(m[1], 10, 64) // 12 digits always are a number
		for range strings.Index("kMGT", m[2]) + 1 {
			if size > memoryMost {
				break
			}
			size *= 1024
		}
		if size < memoryLeast || size > memoryMost {
			r.problem(n, hint, "%s is %s: it is 1MB to 2TB", at, text)
			return
		}
		*to = size
	}
}

// cpu reads how many processors a child takes at most; 0: as many as there are.
func (r *reader) cpu(to *float64) func(node, string) {
	return func(n node, at string) {
		if r.number(to, 0, cpuMost)(n, at); *to > 0 && *to < cpuLeast {
			r.problem(n, "", "%s is %s: it is 0, or %g to %d", at, n.GetToken().Value, cpuLeast, cpuMost)
		}
	}
}

// noteLimits refuses limits of what runs elsewhere.
func (r *reader) noteLimits(given map[string]node, at string, mode Mode) {
	for _, key := range []string{"memory", "cpu"} {
		if n := given[key]; n != nil && mode == ModeEngine {
			r.problem(n, "leave it out, and tell the engine by options",
				"%s.%s: the jobs of an engine take nothing of a host", at, key)
		}
	}
}
