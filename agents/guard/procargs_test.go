package guard

import (
	"testing"

	"pgregory.net/rapid"
)

// A page as macOS writes it, with zeros that pad the path, and what lies behind the environment.
func TestProcArgs_AreSplitIntoArgumentsAndEnvironment(t *testing.T) {
	t.Parallel()
	page := "\x02\x00\x00\x00/usr/local/bin/agent\x00\x00\x00\x00agent\x00--fast\x00A=1\x00BELLHOP_GUARD=7:8:0:x\x00\x00junk"
	argv, environ := splitProcArgs([]byte(page))
	if string(argv) != "agent\x00--fast\x00" || string(environ) != "A=1\x00BELLHOP_GUARD=7:8:0:x\x00" {
		t.Errorf("arguments %q, environment %q", argv, environ)
	}
	if got := markIn(environ); got != "BELLHOP_GUARD=7:8:0:x" {
		t.Errorf("the mark is %q", got)
	}
}

// Nothing that a process writes over its own arguments takes the guard down.
func TestProcArgs_OfAnyBytes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOf(rapid.Byte()).Draw(t, "page")
		argv, environ := splitProcArgs(b)
		if len(argv)+len(environ) > len(b) {
			t.Fatalf("%d bytes became %d", len(b), len(argv)+len(environ))
		}
	})
}
