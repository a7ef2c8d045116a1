package scheduler

import (
	"strings"
	"testing"
)

func TestCheckType(t *testing.T) {
	t.Parallel()
	for name, says := range map[string]string{
		"license":                 "",
		"srv:7_a-B":               "",
		strings.Repeat("x", 500):  "",
		strings.Repeat("x", 501):  "a type of 501 bytes is one that no job can have",
		"a b":                     "is not a valid name of a type",
		"":                        "is not a valid name of a type",
		"command":                 "the type of bellhop's own commands",
		"license; drop table job": "is not a valid name of a type",
	} {
		why, next := CheckType(name)
		if !strings.Contains(why, says) || (why == "") != (says == "") || (why == "") != (next == "") {
			t.Errorf("%.20q: %q, %q", name, why, next)
		}
	}
}
