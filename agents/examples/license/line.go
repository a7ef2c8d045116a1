package license

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// file is what a line asks for.
type file struct {
	id     int64
	path   string
	source bool // only the head counts
}

// parse reads a line of name="value" pairs. Pairs that it does not know are
// passed over, so that a query may select more.
func parse(line string) (file, error) {
	f := file{}
	raw := ""
	for rest := line; rest != ""; rest = strings.TrimPrefix(rest, " ") {
		var name, value string
		var ok bool
		if name, value, rest, ok = pair(rest); !ok {
			return file{}, fmt.Errorf("the line is not a list of name=\"value\" pairs: %q", line)
		}
		switch name {
		case "id":
			id, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return file{}, fmt.Errorf("the id in %q: %w", line, err)
			}
			f.id = id
		case "path":
			f.path = value
		case "raw": // bytea, in PostgreSQL's form
			bytes, err := hex.DecodeString(strings.TrimPrefix(value, `\x`))
			if err != nil {
				return file{}, fmt.Errorf("the raw path in %q: %w", line, err)
			}
			raw = string(bytes)
		case "kind":
			f.source = value == "source"
		}
	}
	if raw != "" {
		f.path = raw
	}
	if f.id == 0 || f.path == "" {
		return file{}, fmt.Errorf("the line has no id or no path: %q", line)
	}
	return f, nil
}

// pair takes one name="value" off the front.
func pair(s string) (name, value, rest string, ok bool) {
	name, s, ok = strings.Cut(s, `="`)
	if !ok {
		return "", "", "", false
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '"':
			return name, b.String(), s[i+1:], true
		case '\\':
			if i++; i == len(s) {
				return "", "", "", false
			}
			switch s[i] {
			case 'n':
				b.WriteByte('\n')
			case 'r':
				b.WriteByte('\r')
			default:
				b.WriteByte(s[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", "", "", false // no closing quote
}
