package fossology

import "testing"

// What the front end and fo_cli send, and what FOSSology's scheduler took for it.
func TestParse_TheWords(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]command{
		"status":                     {word: "status"},
		"STATUS 12\n":                {word: "status", job: 12, n: 1},
		"database":                   {word: "database"},
		`kill 12 "Killed by fossy"`:  {word: "kill", job: 12, text: "Killed by fossy", n: 1},
		`kill 12 "he said "no""`:     {word: "kill", job: 12, text: `he said "no"`, n: 1},
		`kill 12 ""`:                 {word: "kill", job: 12, n: 1},
		`kill "hello" 12`:            {word: "kill", text: "hello"},
		"kill 12":                    {word: "kill", job: 12, n: 1},
		"priority 7 -3":              {word: "priority", job: 7, level: -3, n: 2},
		"priority 7":                 {word: "priority", job: 7, n: 1},
		"  pause   9  ":              {word: "pause", job: 9, n: 1},
		"pause x":                    {word: "pause"},
		"verbose 12 3":               {word: "verbose", job: 12, level: 3, n: 2},
		"restart 9 and what follows": {word: "restart", job: 9, n: 1},
	} {
		if got, ok := parse(line); !ok || got != want {
			t.Errorf("%q is %+v, %v, want %+v", line, got, ok, want)
		}
	}
	for _, line := range []string{"", " ", "sexit", "killall 3", "pause 99999999999", "-5", `"kill" 3`, "stopped",
		"\x00"} {
		if c, ok := parse(line); ok {
			t.Errorf("%q is taken for %+v", line, c)
		}
	}
}

func TestBegun_HalfAWordWaitsForItsRest(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"": true, "sta": true, "st": true, "status": false, "status 1": false, `kill 1 "Killed`: true,
		`kill 1 "Killed by x"`: false, "nonsense": false, "KI": true, "database": false} {
		if begun(text) != want {
			t.Errorf("%q: begun is %v", text, !want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`kill 12 "a"`)
	f.Fuzz(func(t *testing.T, line string) {
		c, ok := parse(line)
		if _, known := words[c.word]; ok && !known {
			t.Errorf("%q is taken for %+v", line, c)
		}
	})
}
