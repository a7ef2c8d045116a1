package fossology

import (
	"regexp"
	"strconv"
	"strings"
)

// command is what a line asks for.
type command struct {
	word  string
	job   int64  // the first number
	level int    // the second
	text  string // what stands in quotes
	n     int    // how many numbers there are
}

// words are all that there are. Those that are true are answered at length,
// with a line `end` behind it; the front end stops reading others at `received`.
var words = map[string]bool{"close": false, "exit": false, "stop": false, "die": false, "load": true, "agents": true, "status": true, "kill": false,
	"pause": false, "restart": false, "reload": false, "verbose": false, "priority": false, "database": false}

// grammar is that of FOSSology's scheduler: a word, a number, and another one
// or a text in quotes. What stands behind it was never looked at.
var grammar = regexp.MustCompile(`^(\w+)(?:\s+(-?\d+))?(?:\s+(?:(-?\d+)|"(.*)"))?`)

// parse reads a line; false: it is no command. The word counts in any case.
func parse(line string) (c command, ok bool) {
	m := grammar.FindStringSubmatch(strings.TrimSpace(line))
	if m == nil {
		return c, false
	}
	c.word, c.text = strings.ToLower(m[1]), m[4]
	if _, known := words[c.word]; !known {
		return c, false
	}
	for i, number := range m[2:4] {
		if number == "" {
			break
		}
		n, err := strconv.ParseInt(number, 10, 32) // as wide as jq_pk
		if err != nil {
			return c, false
		}
		if c.n++; i == 0 {
			c.job = n
		} else {
			c.level = int(n)
		}
	}
	return c, true
}

// begun reports whether a text may be a command that has not come to its end.
func begun(text string) bool {
	text = strings.ToLower(strings.TrimLeft(text, " \t"))
	for word := range words {
		if strings.HasPrefix(word, text) && word != text {
			return true
		}
	}
	return strings.Count(text, `"`) == 1 // a message that goes on
}
