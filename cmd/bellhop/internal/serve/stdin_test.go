package serve

import (
	"fmt"
	"testing"
)

func TestServeStdin_Orders(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"":               "",
		"  ":             "",
		"license":        "license/-/0",
		"license ":       "license//0",
		"license a  b ":  "license/a  b /0",
		"license a\r":    "license/a/0",
		"!license a":     "license/a/-20",
		"! license a":    "license/a/-20",
		"wait license":   "wait license",
		"wait":           "wait ",
		"waiter x":       "waiter/x/0",
		"license wait x": "license/wait x/0",
		"var jobId=12":   "var jobId=12",
		"var jobId=":     "var jobId=",
		"var a b=c":      "var a b=c",
		"var x":          "var/x/0",
		"!var a=b":       "var/a=b/-20",
	} {
		o, ok := parseOrder(line)
		got := ""
		switch {
		case ok && o.name != "":
			got = "var " + o.name + "=" + o.value
		case ok && o.wait:
			got = "wait " + string(o.typ)
		case ok:
			args := "-"
			if o.args != nil {
				args = *o.args
			}
			got = fmt.Sprintf("%s/%s/%d", o.typ, args, o.priority)
		}
		if got != want {
			t.Errorf("%q is %q, want %q", line, got, want)
		}
	}
}
