package e2e

import (
	"os"
	"path/filepath"
	"testing"
)

// appendFile puts the text of one file behind that of another.
func appendFile(t *testing.T, to, from string) {
	t.Helper()
	text := []byte{}
	for _, file := range []string{to, from} {
		part, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, part...)
	}
	if err := os.WriteFile(to, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestEncryption_AJobOnAnEngineWaitsForItsKey: submit is not called, no attempt is counted, and it runs when the key is
// there. What no key opens fails.
func TestEncryption_AJobOnAnEngineWaitsForItsKey(t *testing.T) {
	t.Parallel()
	e := setup(t)
	f := newFarEngine(e)
	keys, other := filepath.Join(e.dir, "keys"), filepath.Join(e.dir, "other")
	e.ok("key", "new", keys, "--id", "old")
	e.ok("key", "new", other, "--id", "new")
	f.put("all", "succeeded")
	e.serve("encryption: {keys: " + keys + "}\n" + f.config(", retry: {attempts: 2, first: 10ms}"))
	id := value[int64](e, "select bellhop.submit('far', $1)", e.sealed(other, "far", "args", "secret"))
	e.eventually("it waits", `select state = 'scheduled' and attempt = 0 and waiting_for like 'no_key: %'
		from bellhop.jobqueue where id = $1`, id)
	e.because(id, "no_key", "sealed with key new, and the keys here are old; no live instance has that key")
	broken := value[int64](e, "select bellhop.submit('far', $1)", e.sealed(keys, "near", "args", "secret"))
	if j := e.waitState(broken, "failed"); j.Attempt != 1 {
		t.Errorf("%+v", j)
	}
	if n := f.calls("submit"); n != 0 {
		t.Errorf("submit was called %d times", n)
	}
	if n := value[int](e, "select count(*) from bellhop.engine_job where job = $1 and state not in ('killing', 'over')", id); n != 0 {
		t.Errorf("%d of its tags stand", n)
	}

	appendFile(t, keys, other)
	has(t, e.ok("reload"), "keys changed: old, new")
	if j := e.waitState(id, "succeeded"); j.Attempt != 1 {
		t.Errorf("%+v", j)
	}
	f.onlyOnce(1)
}
