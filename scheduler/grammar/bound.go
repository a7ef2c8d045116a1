package grammar

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Text says what is wrong with a text, and what to write instead; empty: nothing. bellhop.bound_fault says the same.
func (f Field) Text(text string) (wrong, hint string) {
	switch {
	case f.Choices != nil && !slices.Contains(f.Choices, text),
		f.Pattern != nil && !f.Pattern.MatchString(text),
		f.Pattern != nil && f.Most > 0 && utf8.RuneCountInString(text) > f.Most:
		return strings.ReplaceAll(f.wrong(), "%s", strconv.Quote(text)), f.instead()
	case f.Most > 0 && utf8.RuneCountInString(text) > f.Most:
		return fmt.Sprintf("%s has %d characters, and may have %d", f.Name, utf8.RuneCountInString(text), f.Most), ""
	case f.MostBytes > 0 && len(text) > f.MostBytes:
		return fmt.Sprintf("%s has %d bytes, and may have %d", f.Name, len(text), f.MostBytes), ""
	}
	return "", ""
}

// Number says what is wrong with a number, and what to write instead; empty: nothing. A count of 0 is left out.
// bellhop.bound_fault says the same.
func (f Field) Number(n int) (wrong, hint string) {
	leftOut := n == 0 && f.Kind == Count
	if f.Most > 0 && (n < f.Least || n > f.Most) && !leftOut {
		return fmt.Sprintf("%s %d is out of range", f.Name, n), f.instead()
	}
	return "", ""
}

// wrong is the sentence about a text, which stands for %s.
func (f Field) wrong() string {
	if f.Wrong == "" && (f.Choices != nil || f.Pattern != nil) {
		return f.Name + " cannot be %s"
	}
	return f.Wrong
}

// instead says what to write.
func (f Field) instead() string {
	number := f.Kind == Whole || f.Kind == Count
	switch {
	case f.Hint != "":
		return f.Hint
	case f.Choices != nil:
		return "known are " + strings.Join(f.Choices, ", ")
	case number && f.Most > 0:
		return fmt.Sprintf("write %d to %d", f.Least, f.Most)
	}
	return ""
}
