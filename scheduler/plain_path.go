package scheduler

import "strings"

// plainPathMost is how long a plain path may be.
const plainPathMost = 100

// PlainPath is a path under which a site may stand, such as /jobs, without the slash at its end; "/" is the empty one.
// ok is false for what is more than that: a host, a scheme, "..", or a character that would have to be escaped
// somewhere.
func PlainPath(text string) (path string, ok bool) {
	if !strings.HasPrefix(text, "/") || len(text) > plainPathMost {
		return "", false
	}
	text = strings.TrimSuffix(text, "/")
	if text == "" {
		return "", true
	}
	for part := range strings.SplitSeq(text[1:], "/") {
		if part == "" || part == "." || part == ".." || strings.ContainsFunc(part, notPlain) {
			return "", false
		}
	}
	return text, true
}

func notPlain(c rune) bool {
	letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
	return !letter && c != '-' && c != '_' && c != '.' && c != '~'
}
