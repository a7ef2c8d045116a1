package config

import (
	"strings"
	"testing"
)

func TestRemarks_ArgsThatAreOptions(t *testing.T) {
	t.Parallel()
	for command, remark := range map[string]bool{
		"[sleep]": true, "[/usr/bin/curl, -s]": true, "[sleep, --]": false, "[curl, -s, --]": false,
		"[sh, -c]": false, "[bash, -ec]": false, "[bash, -e]": true, "[sh, -c, 'echo \"$1\"', --]": false,
		"[./build.sh]": false, "[/srv/bin/convert]": false,
	} {
		c, err := Parse("bellhop.yaml", []byte("agents:\n  - {type: work, mode: exec, command: "+command+"}\n"))
		if err != nil {
			t.Fatal(err)
		}
		got := c.Remarks()
		if remark != (len(got) == 1) || remark && !strings.Contains(got[0], "type work") {
			t.Errorf("%s: %q", command, got)
		}
	}
}
