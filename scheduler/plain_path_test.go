package scheduler

import (
	"strings"
	"testing"
)

// A path is plain, or it is none: nothing that a browser could take for another site, or for more than a path.
func TestPlainPath(t *testing.T) {
	t.Parallel()
	long := "/" + strings.Repeat("a", plainPathMost-1)
	for text, want := range map[string]string{
		"/": "", "/jobs": "/jobs", "/jobs/": "/jobs", "/a/b-c_d.e~1": "/a/b-c_d.e~1", "/...": "/...", long: long,
	} {
		if got, ok := PlainPath(text); !ok || got != want {
			t.Errorf("%q: %q, %t", text, got, ok)
		}
	}
	for _, text := range []string{
		"", "jobs", "//", "//evil.example", "/jobs//", "/a//b", "/../x", "/a/..", "/./a",
		"http://evil.example", "https:/evil", `/\evil.example`, `\\evil`, "/a b", "/a?b", "/a#b", "/a%2fb", "/a\r\nSet-Cookie: x", "/a\x00", "/a\t", "/ä", "/a;b", "/a:b",
		"/a,/b", `/"><script>`, "/'", "/@evil", long + "a", " /a", "/a ",
	} {
		if got, ok := PlainPath(text); ok || got != "" {
			t.Errorf("%q is taken as %q", text, got)
		}
	}
}
