package courier

import (
	"testing"

	"bellhop/scheduler/notice"
)

// A log is read by more people than the database: it names where a message goes, and no secret.
func TestNamed_HasNoSecret(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ channel, target, want string }{
		{"webhook", "https://hooks.example.org/services/T0/B0/SECRET", "https://hooks.example.org"},
		{"webhook", "https://u:SECRET@example.org:8443/x?token=SECRET", "https://example.org:8443"},
		{"webhook", "://SECRET", "an invalid URL"},
		{"command", `["/usr/bin/page","--token","SECRET"]`, "/usr/bin/page"},
		{"command", "SECRET", "an invalid command"},
		{"mail", "ops@example.org", "ops@example.org"},
	} {
		if got := named(notice.Channel(x.channel), x.target); got != x.want {
			t.Errorf("%s %s: %s, want %s", x.channel, x.target, got, x.want)
		}
	}
}
