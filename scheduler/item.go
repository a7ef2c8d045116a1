package scheduler

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Pairs writes an item as one line of name="value" pairs in column order with
// one blank between. In values `\` is `\\`, `"` is `\"`, LF is `\n` and CR is
// `\r`, so that a value can neither end its pair nor the line.
func Pairs(columns []Column) string {
	var b strings.Builder
	for i, c := range columns {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(c.Name)
		b.WriteString(`="`)
		if strings.ContainsAny(c.Value, "\\\"\n\r") {
			_, _ = pairEscapes.WriteString(&b, c.Value) // a strings.Builder never fails
		} else {
			b.WriteString(c.Value)
		}
		b.WriteByte('"')
	}
	return b.String()
}

var pairEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`)

// LocksColumn is the column of a query that says which locks an item needs while
// an agent has it; it is no part of the line.
const LocksColumn = "locks"

// TakeLocks parts an item from what it says of locks: a list, as PostgreSQL writes
// text[], or one text. An item without the column is left as it is.
func TakeLocks(columns []Column) (rest []Column, locks []string, err error) {
	for i := range columns {
		if c := &columns[i]; c.Name == LocksColumn {
			if locks, err = textList(c.Value); err != nil {
				return columns, nil, err
			}
			rest, more, err := TakeLocks(slices.Delete(columns, i, i+1))
			return rest, append(locks, more...), err
		}
	}
	return columns, nil, nil
}

// textList reads a list of texts as PostgreSQL writes it, or one text; NULL and the
// empty text are none.
func textList(text string) (list []string, err error) {
	if !strings.HasPrefix(text, "{") {
		if text != "" {
			list = []string{text}
		}
		return list, nil
	}
	wrong := func() error {
		return fmt.Errorf("the column %s holds %s, which is not a list of texts; make it text[], or text for one lock",
			LocksColumn, strconv.Quote(text))
	}
	rest := text[1:]
	for rest != "}" {
		var one strings.Builder
		quoted, i := rest != "" && rest[0] == '"', 0
		if quoted {
			i = 1
		}
		for ; i < len(rest) && (quoted && rest[i] != '"' || !quoted && rest[i] != ',' && rest[i] != '}'); i++ {
			if !quoted && (rest[i] == '{' || rest[i] == '"') {
				return nil, wrong() // a list of lists
			}
			if rest[i] == '\\' && i+1 < len(rest) {
				i++
			}
			one.WriteByte(rest[i])
		}
		if quoted {
			i++ // the quote
		}
		if i >= len(rest) || !quoted && i == 0 {
			return nil, wrong()
		}
		if one.Len() > 0 && (quoted || one.String() != "NULL") {
			list = append(list, one.String())
		}
		switch {
		case rest[i] == ',' && len(rest) > i+1 && rest[i+1] != '}':
			rest = rest[i+1:]
		case rest[i:] == "}":
			return list, nil
		default:
			return nil, wrong()
		}
	}
	return list, nil
}
