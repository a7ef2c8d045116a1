package words

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestShellLine_IsWhatAShellTakesApart(t *testing.T) {
	t.Parallel()
	for _, argv := range [][]string{
		{"/usr/bin/thumbnail", "--size=64", "-q"},
		{"/bin/sh", "-c", `echo "a  b" $1; it's`, "bellhop"},
		{"x", "", "a b", "$(id)", "~", "#", "öä", "a\nb", "*"},
	} {
		line := ShellLine(argv)
		out, err := exec.Command("bash", "-c", `printf '%s\0' `+line).Output()
		got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		if err != nil || !slices.Equal(got, argv) {
			t.Errorf("%q: %q, %v", line, got, err)
		}
	}
	if got := ShellLine([]string{"/bin/true", "-q", "a=b"}); got != "/bin/true -q 'a=b'" {
		t.Errorf("plain words: %s", got)
	}
}
