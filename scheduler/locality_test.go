package scheduler

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestLocality_Covers(t *testing.T) {
	t.Parallel()
	l := Locality{Host: "big1", Serves: []string{"srv:7", "disk:*", "r?ck-*-a"}}
	for _, key := range []string{"big1", "srv:7", "disk:", "disk:/a/b", "rack-3-a", "rock--a", "rack-a-a-a"} {
		if !l.Covers(key) {
			t.Errorf("it does not answer to %q", key)
		}
	}
	for _, key := range []string{"", "big", "big11", "srv:77", "srv:", "isk:1", "rck-3-a", "rack-3-b", "Big1"} {
		if l.Covers(key) {
			t.Errorf("it answers to %q", key)
		}
	}
	localities := []Locality{l, {Host: "big2", Serves: []string{"disk:*"}}}
	if got := HostsOf(localities, "disk:9"); !slices.Equal(got, []HostName{"big1", "big2"}) {
		t.Errorf("disk:9 is %v", got)
	}
	if got := HostsOf(localities, "nowhere"); got != nil {
		t.Errorf("nowhere is %v", got)
	}
}

func TestFits_AsARegularExpressionWould(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringOfN(rapid.RuneFrom([]rune("ab*?ä.")), 0, 8, -1)
		pattern, text := word.Draw(t, "pattern"), strings.NewReplacer("*", "a", "?", "b").Replace(word.Draw(t, "text"))
		expression := strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(pattern))
		if want := regexp.MustCompile("^(?s:" + expression + ")$").MatchString(text); fits([]rune(pattern),
			[]rune(text)) != want {
			t.Fatalf("%q fits %q: want %t", pattern, text, want)
		}
	})
}

func TestControlState_Pauses(t *testing.T) {
	t.Parallel()
	if (ControlState{}).Pauses("a") || !(ControlState{Paused: []TypeName{"b", "a"}}).Pauses("a") ||
		!(ControlState{Paused: []TypeName{""}}).Pauses("a") {
		t.Error("a pause is of one type, or of all")
	}
}
