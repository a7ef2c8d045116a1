package words

import (
	"strings"
	"unicode"
)

// wide are the letters and pictures that take two cells of a terminal, as far as most terminals agree.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x1100, Hi: 0x115f, Stride: 1}, {Lo: 0x231a, Hi: 0x231b, Stride: 1}, {Lo: 0x23e9, Hi: 0x23ec, Stride: 1},
		{Lo: 0x2614, Hi: 0x2615, Stride: 1}, {Lo: 0x2705, Hi: 0x2705, Stride: 1}, {Lo: 0x274c, Hi: 0x274c, Stride: 1},
		{Lo: 0x2b50, Hi: 0x2b50, Stride: 1}, {Lo: 0x2e80, Hi: 0x303e, Stride: 1}, {Lo: 0x3041, Hi: 0x33ff, Stride: 1},
		{Lo: 0x3400, Hi: 0x4dbf, Stride: 1}, {Lo: 0x4e00, Hi: 0x9fff, Stride: 1}, {Lo: 0xa000, Hi: 0xa4cf, Stride: 1},
		{Lo: 0xac00, Hi: 0xd7a3, Stride: 1}, {Lo: 0xf900, Hi: 0xfaff, Stride: 1}, {Lo: 0xfe30, Hi: 0xfe6f, Stride: 1},
		{Lo: 0xff00, Hi: 0xff60, Stride: 1}, {Lo: 0xffe0, Hi: 0xffe6, Stride: 1},
	},
	R32: []unicode.Range32{
		{Lo: 0x1f300, Hi: 0x1f64f, Stride: 1}, {Lo: 0x1f680, Hi: 0x1f6ff, Stride: 1}, {Lo: 0x1f900, Hi: 0x1f9ff, Stride: 1},
		{Lo: 0x1fa70, Hi: 0x1faff, Stride: 1}, {Lo: 0x20000, Hi: 0x3fffd, Stride: 1},
	},
}

// cells is how many cells of a terminal a character takes.
func cells(r rune) int {
	switch {
	case r < 0x300: // nearly all
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case unicode.Is(wide, r):
		return 2
	}
	return 1
}

// Width is how many cells of a terminal a line takes.
func Width(line string) (n int) {
	for _, r := range line {
		n += cells(r)
	}
	return n
}

// Pad is a line with blanks behind it, up to a width.
func Pad(line string, width int) string {
	return line + strings.Repeat(" ", max(0, width-Width(line)))
}
