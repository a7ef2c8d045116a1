package grammar

import (
	"strconv"
	"strings"
)

// Sample is the example as JSON has it, or the last choice. Tests make whole jobs of it. nil: a field of a kind whose
// example is written otherwise.
func (f Field) Sample() any {
	switch f.Kind {
	case Word, Text, Long, Time:
		if f.Choices != nil {
			return f.Choices[len(f.Choices)-1]
		}
		return f.Example
	case Whole, Count, ID:
		n, err := strconv.Atoi(f.Example)
		if err != nil {
			panic("grammar: the example of " + f.Name + " is not a number")
		}
		return n
	case Words:
		return []string{f.Example}
	case Pairs:
		name, value, _ := strings.Cut(f.Example, "=")
		return map[string]string{name: value}
	case Flag:
		return true
	}
	return nil
}
