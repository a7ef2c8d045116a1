package config

import (
	"strings"
)

// suggest is the hint for a name that is not among the known ones.
func suggest(name string, known []string) string {
	if best, ok := Nearest(name, known); ok {
		return `did you mean "` + best + `"?`
	}
	return "known are " + strings.Join(known, ", ")
}

// Nearest is the known name that a mistyped one was most likely meant to be.
func Nearest(name string, known []string) (best string, ok bool) {
	if len(name) > 64 { // no slip of the fingers, and the comparison is quadratic
		return "", false
	}
	name = plain(name)
	least := 1 + len(name)/4 + 1
	if len(name) <= 4 { // two slips in four characters leave another word
		least = 2
	}
	for _, k := range known {
		p := plain(k)
		if d := distance(name, p); d < least && d < max(len(name), len(p)) {
			best, least = k, d
		}
	}
	return best, best != ""
}

// plain forgives what is no different to the eye.
func plain(s string) string { return strings.ReplaceAll(strings.ToLower(s), "-", "_") }

// distance is how many characters must be put in, left out, changed or swapped
// with their neighbour to turn a into b.
func distance(a, b string) int {
	from, to := []rune(a), []rune(b)
	var before, last []int
	row := make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i := range from {
		before, last, row = last, row, make([]int, len(to)+1)
		row[0] = i + 1
		for j := range to {
			change := last[j]
			if from[i] != to[j] {
				change++
			}
			row[j+1] = min(change, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && from[i] == to[j-1] && from[i-1] == to[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(to)]
}
