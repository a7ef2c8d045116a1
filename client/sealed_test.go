package client_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bellhop/client"
	"bellhop/seal"
)

// withKeys is a file of one key, and its keys.
func withKeys(t *testing.T) *client.Keys {
	t.Helper()
	line, err := seal.NewKey("k1")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(file, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	keys, err := client.ReadKeys(file)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func TestWithKeys_EveryWayToSubmitSeals(t *testing.T) {
	t.Parallel()
	c := setup(t)
	keys := withKeys(t)
	sealing := c.WithKeys(keys)
	job := client.Job{Type: "mail", Args: "to ann", Vars: map[string]string{"A": "secret", "B": "plain"}, Plain: []string{"B"}}
	id, err := sealing.Submit(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sealing.SubmitMany(t.Context(), slices.Values([]client.Job{job})); err != nil {
		t.Fatal(err)
	}
	if _, err := sealing.SubmitManyIDs(t.Context(), slices.Values([]client.Job{job})); err != nil {
		t.Fatal(err)
	}
	tx, err := c.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sealing.In(tx).Submit(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	jobs, err := c.Jobs(t.Context(), client.Filter{})
	if err != nil || len(jobs) != 4 {
		t.Fatalf("%d jobs, %v", len(jobs), err)
	}
	for _, row := range jobs {
		p, err := c.Payload(t.Context(), row.ID)
		if err != nil {
			t.Fatal(err)
		}
		args, err := keys.Open(seal.Place{Type: "mail", At: seal.Args}, *p.Args)
		a, broken := keys.Open(seal.Place{Type: "mail", At: seal.Var("A")}, p.Vars["A"])
		if args == *p.Args || args != "to ann" || a != "secret" || p.Vars["B"] != "plain" || errors.Join(err, broken) != nil {
			t.Errorf("job %d (the first is %d): %s %v, opened %s %s, %v, %v", row.ID, id, *p.Args, p.Vars, args, a, err, broken)
		}
	}
}

func TestWithKeys_UnderAKeyTheSameJobIsTheSame(t *testing.T) {
	t.Parallel()
	c := setup(t)
	sealing := c.WithKeys(withKeys(t))
	job := client.Job{Type: "mail", Args: "to ann", Key: "mail.1", Vars: map[string]string{"A": "x"}}
	first, err := sealing.Submit(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := sealing.Submit(t.Context(), job); err != nil || again != first {
		t.Errorf("again it is job %d, %v, want %d", again, err, first)
	}
	job.Args = "to ben"
	if _, err := sealing.Submit(t.Context(), job); !errors.Is(err, client.ErrKeyTaken) || strings.Contains(err.Error(), "ben") {
		t.Errorf("with other args: %v", err)
	}
}

func TestWithKeys_RefusesWhatWouldStayPlain(t *testing.T) {
	t.Parallel()
	c := setup(t)
	sealing := c.WithKeys(withKeys(t))
	text := "x"
	_, query := sealing.Submit(t.Context(), client.Job{Type: "mail", MSQ: "select 1"})
	_, lines := sealing.Submit(t.Context(), client.Job{Type: "mail", Args: "a\nb"})
	_, unknown := sealing.Submit(t.Context(), client.Job{Type: "mail", Plain: []string{"A"}})
	_, keyless := c.Submit(t.Context(), client.Job{Type: "mail", Plain: []string{"A"}})
	_, edit := sealing.Edit(t.Context(), 1, client.Edit{Args: &text})
	_, all := sealing.EditAll(t.Context(), client.Filter{}, client.Edit{Vars: map[string]string{"A": "x"}})
	for want, err := range map[string]error{
		"a query cannot be sealed": query, "line break": lines, "var A is to stay plain": unknown, "has no keys": keyless,
		"edits no args": errors.Join(edit, all),
	} {
		if !errors.Is(err, client.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
