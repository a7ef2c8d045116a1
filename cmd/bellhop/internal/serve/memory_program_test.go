package serve

import (
	"slices"
	"strings"
	"testing"
)

// Only what is the file's own is dropped: neither the heap, nor what was written, nor another file.
func TestProgramMaps_AreTheFilesOwnPages(t *testing.T) {
	smaps := `00400000-0157a000 r-xp 00000000 08:01 17 /opt/bellhop
Rss:               11053 kB
Anonymous:             0 kB
0157a000-02cd4000 r--p 0117a000 08:01 17 /opt/bellhop
Anonymous:             4 kB
02cd4000-02dbf000 rw-p 028d4000 08:01 17 /opt/bellhop
Anonymous:             0 kB
03000000-03001000 r--p 00000000 08:01 17 /opt/bellhop
Anonymous:             0 kB
c000000000-c000400000 rw-p 00000000 00:00 0
Anonymous:             0 kB
7f5770eaa000-7f5770eea000 r--p 00000000 08:01 18 /usr/lib/libc.so
Anonymous:             0 kB
`
	want := []span{{0x400000, 0x157a000}, {0x3000000, 0x3001000}}
	if got := programMaps(strings.NewReader(smaps), "/opt/bellhop"); !slices.Equal(got, want) {
		t.Errorf("%x, not %x", got, want)
	}
}
