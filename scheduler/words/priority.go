package words

import (
	"errors"
	"slices"
	"strconv"
	"strings"
)

// Priorities are words for numbers between -20, which goes first, and 19.
var priorities = []struct {
	word string
	n    int
}{{"urgent", -20}, {"high", -10}, {"normal", 0}, {"low", 10}}

var (
	errPriorityRange = errors.New("numbers go from -20 (first) to 19 (last)")
	errPriorityWord  = errors.New("want a number from -20 (first) to 19 (last), or urgent (-20), high (-10), normal (0) or low (10)")
)

// ParsePriority reads a priority: a number, of which the lower runs first, or one of PriorityWords.
func ParsePriority(text string) (int, error) {
	for _, p := range priorities {
		if strings.EqualFold(text, p.word) {
			return p.n, nil
		}
	}
	n, err := strconv.Atoi(text)
	switch {
	case err == nil && n >= -20 && n <= 19:
		return n, nil
	case err == nil || errors.Is(err, strconv.ErrRange):
		return 0, errPriorityRange
	}
	return 0, errPriorityWord
}

// PriorityWords are those that ParsePriority knows, the first to run first.
func PriorityWords() []string {
	list := make([]string, 0, len(priorities))
	for _, p := range slices.All(priorities) {
		list = append(list, p.word)
	}
	return list
}
