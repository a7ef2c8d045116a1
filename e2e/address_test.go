package e2e

import (
	"strings"
	"syscall"
	"testing"
)

// Who serves at any port is found by `bellhop ui` and `bellhop ready`, which have been told nothing of it.
func TestAddress_IsFoundWhereTheInstanceAnswers(t *testing.T) {
	t.Parallel()
	e := setup(t)
	i := e.serve("")
	at := value[string](e, "select listen from bellhop.instance where state = 'live'")
	if strings.HasSuffix(at, ":0") || !strings.HasPrefix(at, "127.0.0.1:") {
		t.Fatalf("it says that it answers at %q", at)
	}
	has(t, e.ok("ui", "--print"), "http://"+at+"/login/")
	has(t, e.ok("ready"), "ok")
	has(t, e.ok("instances", "-o", "json"), `"listen": "`+at+`"`)

	// One that is gone is not looked for there: then the configuration holds.
	i.signal(syscall.SIGTERM)
	<-i.exited
	config := e.file("other.yaml", "listen: 127.0.0.1:8499\n", 0o600)
	has(t, e.ok("ui", "--print", "--config", config), "http://127.0.0.1:8499/login/")
}
