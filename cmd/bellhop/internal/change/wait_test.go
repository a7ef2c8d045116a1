package change

import (
	"slices"
	"testing"
)

// A reason is the same one while only its counts and times change; of another job it is another one.
func TestUncounted(t *testing.T) {
	t.Parallel()
	same := uncounted(7, "no_room: 3 of 4 slots are taken since 12:00:01")
	if again := uncounted(7, "no_room: 14 of 16 slots are taken since 12:00:16"); again != same {
		t.Errorf("%q, then %q", same, again)
	}
	others := []string{uncounted(8, "no_room: 3 of 4 slots are taken since 12:00:01"), uncounted(7, "paused")}
	if slices.Contains(others, same) {
		t.Errorf("%q stands for another reason, or another job", same)
	}
}

func TestMeant(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"did you mean: bellhop submit sh 'echo hi'":     {"sh echo hi"},
		"did you mean: bellhop submit sh 'echo hi you'": {"sh echo", "hi you"},
		"did you mean: bellhop submit sh":               {" sh"},
		"bellhop submit TYPE [ARGS]":                    {" "},
	} {
		if got := meant(args); got != want {
			t.Errorf("%q: %q, and not %q", args, got, want)
		}
	}
}
