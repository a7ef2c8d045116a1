package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"bellhop/scheduler"
)

// What a job wrote is kept once, line by line, whatever part of it an answer has.
func TestRemoteLog(t *testing.T) {
	t.Parallel()
	said := func(lines string, cut, open bool) *scheduler.EngineSaid {
		return &scheduler.EngineSaid{Out: strings.ReplaceAll(lines, " ", "\n"), Cut: cut, Open: open}
	}
	for name, test := range map[string]struct {
		kept int
		says []*scheduler.EngineSaid // the last one when it is over
		want string
	}{
		"nothing":                  {0, []*scheduler.EngineSaid{said("", false, false)}, "[]"},
		"never read before":        {0, []*scheduler.EngineSaid{said("a b", false, false)}, "[a b]"},
		"line by line":             {0, []*scheduler.EngineSaid{said("a", false, false), said("a b", false, false), said("a b c", false, false)}, "[a][b][c]"},
		"nothing new":              {0, []*scheduler.EngineSaid{said("a a", false, false), said("a a", false, false), said("a a a", false, false)}, "[a a][][a]"},
		"a line that has no end":   {0, []*scheduler.EngineSaid{said("a b", false, true), said("a bc d", false, true), said("a bc d", false, true)}, "[a][bc][d]"},
		"by who watched before":    {2, []*scheduler.EngineSaid{said("a b c", false, false), said("a b c d", false, false)}, "[c][d]"},
		"its beginning is cut off": {0, []*scheduler.EngineSaid{said("a b c", false, false), said("b c d", true, false), said("d e", true, false)}, "[a b c][d][e]"},
		"cut off, and alike":       {0, []*scheduler.EngineSaid{said("a x x", false, false), said("a x x x", true, false)}, "[a x x][x]"},
		"all that was known is":    {0, []*scheduler.EngineSaid{said("a b", false, false), said("y z", true, false)}, "[a b][y z]"},
		"shorter than before":      {0, []*scheduler.EngineSaid{said("a b", false, false), said("a", false, false)}, "[a b][]"},
	} {
		l := remoteLog{kept: test.kept}
		var got strings.Builder
		for i, s := range test.says {
			if i == len(test.says)-1 {
				fmt.Fprint(&got, l.rest(s))
			} else {
				fmt.Fprint(&got, l.more(s))
			}
		}
		if got.String() != test.want {
			t.Errorf("%s: %s, want %s", name, got.String(), test.want)
		}
	}
	l := remoteLog{}
	if n := len(l.more(said(strings.Repeat("x ", 2*remoteMost), false, false))); n != remoteMost || l.due(time.Now()) {
		t.Errorf("%d lines, and more are wanted: %v", n, l.due(time.Now()))
	}
}
