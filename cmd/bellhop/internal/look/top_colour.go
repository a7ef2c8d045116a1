package look

import "strings"

// stateColours are the colours of what stands in a line as a word of its own.
var stateColours = []struct{ word, code string }{
	{" RUNNING ", "32"}, {" FAIL ", "31"}, {" PREP ", "33"}, {" SPAWNED ", "33"}, {" FREEING ", "33"},
}

// coloured is a line of a frame in colours that every terminal has.
func coloured(line string) string {
	switch first, _, _ := strings.Cut(line, " "); first {
	case "bellhop":
		return paint("1", line)
	case "HOST", "TYPE", "LOCK", "JOB", "CHILD":
		return paint("36", line)
	}
	for _, c := range stateColours {
		if before, after, has := strings.Cut(line, c.word); has {
			return before + paint(c.code, c.word) + after
		}
	}
	if i := strings.Index(line, "#"); i >= 0 { // a bar
		rest := strings.TrimLeft(line[i:], "#")
		return line[:i] + paint("32", line[i:len(line)-len(rest)]) + rest
	}
	return line
}

func paint(code, text string) string { return "\x1b[" + code + "m" + text + "\x1b[0m" }
