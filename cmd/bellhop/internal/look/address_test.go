package look

import "testing"

// The link of `bellhop ui` leads to where the site is asked for: under the prefix of the configuration, or as was said.
func TestSite_OfAnAddress(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ address, prefix, want string }{
		{"127.0.0.1:8470", "", "http://127.0.0.1:8470"},
		{"0.0.0.0:8470", "/jobs", "http://localhost:8470/jobs"},
		{"https://jobs.example.org/a/", "/jobs", "https://jobs.example.org/a"},
		{"https://jobs.example.org:8443", "/jobs", "https://jobs.example.org:8443"},
	} {
		if got, err := site(c.address, c.prefix); err != nil || got != c.want {
			t.Errorf("%s under %q: %s, %v", c.address, c.prefix, got, err)
		}
	}
	for _, bad := range []string{"8470", "ftp://x/", "https://", "https://u@x/", "https://x/a?b", "https://x//a", "://x", "https://x/#a"} {
		if got, err := site(bad, "/jobs"); err == nil {
			t.Errorf("%s: %s", bad, got)
		}
	}
}
