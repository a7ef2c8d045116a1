package words_test

import (
	"strings"
	"testing"

	"bellhop/scheduler/words"
)

// A word means what it says: what is more urgent has the lower number, and so runs first.
func TestParsePriority(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"-20": -20, "19": 19, "0": 0, "+5": 5, "urgent": -20, "high": -10, "normal": 0, "low": 10, "High": -10,
	} {
		if n, err := words.ParsePriority(text); n != want || err != nil {
			t.Errorf("%q is %d, %v, want %d", text, n, err, want)
		}
	}
	for text, says := range map[string]string{
		"-21": "from -20", "20": "from -20", "99999999999999999999": "from -20", "abc": "urgent (-20)", "n": "low (10)",
		"": "want a number", "high1": "want a number", "1.5": "want a number", " low": "want a number",
	} {
		if n, err := words.ParsePriority(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q is %d, %v, want an error that says %q", text, n, err, says)
		}
	}
	last := -21
	for _, word := range words.PriorityWords() {
		n, err := words.ParsePriority(word)
		if err != nil || n <= last {
			t.Errorf("%s is %d (%v), and stands behind %d", word, n, err, last)
		}
		last = n
	}
}
