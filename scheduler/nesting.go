package scheduler

// NestedMost is how many levels of lists and objects a JSON text from outside may have: parsers, PostgreSQL's among
// them, take each level on their stack.
const NestedMost = 100

// TooNested reports whether a JSON text has more levels than NestedMost. It takes one pass, and no memory; of a text
// that is not JSON it may say either.
func TooNested(text []byte) bool {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			if depth++; depth > NestedMost {
				return true
			}
		case c == ']' || c == '}':
			depth--
		}
	}
	return false
}
