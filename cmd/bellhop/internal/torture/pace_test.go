package torture

import (
	"testing"
	"time"
)

// A history's times grow with what the machine needs, and are the documented ones on a quick machine.
func TestPace(t *testing.T) {
	t.Parallel()
	for command, lag := range map[time.Duration]time.Duration{
		60 * time.Millisecond: quickLag, 300 * time.Millisecond: quickLag, time.Second: 10 * time.Second,
		time.Minute: 15 * time.Second,
	} {
		if got := paced(command); got != lag {
			t.Errorf("where a command takes %s, the lag is %s; want %s", command, got, lag)
		}
	}
	for name, c := range map[string]struct {
		s    *stage
		want time.Duration
	}{
		"a quick machine":               {&stage{lag: quickLag}, patience},
		"a short lag that was asked":    {&stage{lag: time.Second, slower: 0.5}, patience},
		"before the lag is known":       {&stage{}, patience},
		"a slow machine":                {&stage{lag: 4 * quickLag}, 4 * patience},
		"a machine that became slower":  {&stage{lag: quickLag, slower: 3}, 3 * patience},
		"a slow one that became slower": {&stage{lag: 2 * quickLag, slower: 3}, 6 * patience},
	} {
		if got := c.s.stretched(patience); got != c.want {
			t.Errorf("%s: patience lasts %s; want %s", name, got, c.want)
		}
	}
}
