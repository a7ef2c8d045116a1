package look

import (
	"regexp"
	"unicode/utf8"
)

// keyNames are the keys that are no letters, as terminals send them.
var keyNames = map[string]string{
	"\x1b[A": "up", "\x1bOA": "up", "\x1b[B": "down", "\x1bOB": "down",
	"\x1b[5~": "pgup", "\x1b[6~": "pgdown",
	"\x1b[H": "home", "\x1bOH": "home", "\x1b[1~": "home", "\x1b[7~": "home",
	"\x1b[F": "end", "\x1bOF": "end", "\x1b[4~": "end", "\x1b[8~": "end",
	"\x1b": "esc", "\r": "enter", "\n": "enter", "\x7f": "backspace", "\b": "backspace", "\x03": "ctrl+c",
}

// escape is a key that a terminal sends as more than one character, or esc alone.
var escape = regexp.MustCompile(`^\x1b(\[\[?[0-?]*[ -/]*[@-~]|O.|[^\x1b])?`)

// keys names the keys of what was typed. A letter is its own name; a key that top does not know has none.
func keys(typed []byte) (names []string) {
	for len(typed) > 0 {
		sent := escape.Find(typed)
		if sent == nil {
			_, n := utf8.DecodeRune(typed)
			sent = typed[:n]
		}
		typed = typed[len(sent):]
		if name, is := keyNames[string(sent)]; is {
			names = append(names, name)
		} else if sent[0] >= ' ' && utf8.Valid(sent) {
			names = append(names, string(sent))
		}
	}
	return names
}
