package cli

import "testing"

func TestNearestCommand(t *testing.T) {
	t.Parallel()
	known := []string{"cancel", "logs", "ls", "serve", "show", "stats", "submit", "top", "trace"}
	for word, want := range map[string]string{
		"jobs": "ls", "list": "ls", "queue": "ls", "status": "top", "add": "submit", "enqueue": "submit", "run": "submit",
		"stop": "cancel", "Kill": "cancel", "sumbit": "submit", "log": "logs", "serv": "serve", "stat": "stats",
		"take": "", "frob": "", "dashboard": "", // there is no ui here
	} {
		if got, ok := nearestCommand(word, known); got != want || ok != (want != "") {
			t.Errorf("%s: %q", word, got)
		}
	}
}
