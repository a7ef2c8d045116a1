package scheduler

import "strings"

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
