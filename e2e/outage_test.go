package e2e

import (
	"regexp"
	"strings"
	"testing"

	"bellhop/pgdev/pgtest"
)

// TestLog_OfADatabaseThatIsAwayIsOneStory: what was two warnings a second, with
// durations in nanoseconds and each error twice.
func TestLog_OfADatabaseThatIsAwayIsOneStory(t *testing.T) {
	t.Parallel()
	c, e := setupOwn(t)
	i := e.serve("instance: {heartbeat: 100ms, lag: 1s}\n" + agents("type: a, command: [/bin/cat], mode: exec"))
	c.Kill()
	i.waitSaid("the database is away")
	i.waitSaid("lease lost")
	still := func() int { return strings.Count(i.said(), `"the database is still away"`) }
	pgtest.Eventually(t, patience, "it is told now and then", func() bool { return still() >= 3 })
	e.restart(c, "fast")
	i.waitSaid("the database is back")

	said := i.said()
	for _, once := range []string{`"the database is away: `, `"the database is back"`} {
		if n := strings.Count(said, once); n != 1 {
			t.Errorf("%d times %s", n, once)
		}
	}
	for line := range strings.Lines(said) {
		if strings.Contains(line, `"error"`) && !strings.Contains(line, `"the database `) {
			t.Errorf("besides: %s", line)
		}
		if regexp.MustCompile(`"(for|away|lag|again_in|lease_left)":\d`).MatchString(line) {
			t.Errorf("a duration as a bare number: %s", line)
		}
		if m := regexp.MustCompile(`dial error: [^;"]*`).FindString(line); m != "" && strings.Count(line, m) > 1 {
			t.Errorf("the same error twice: %s", line)
		}
	}
}
