package client_test

import (
	"errors"
	"maps"
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
	return keyNamed(t, "k1")
}

func keyNamed(t *testing.T, id string) *client.Keys {
	t.Helper()
	line, err := seal.NewKey(id)
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
	_, rjm := sealing.Submit(t.Context(), client.Job{Type: "billing", Vars: map[string]string{"RJM_CONFIG": "a=1"}})
	_, lines := sealing.Submit(t.Context(), client.Job{Type: "mail", Args: "a\nb"})
	_, unknown := sealing.Submit(t.Context(), client.Job{Type: "mail", Plain: []string{"A"}})
	_, keyless := c.Submit(t.Context(), client.Job{Type: "mail", Plain: []string{"A"}})
	c.submit(client.Job{Type: "mail", Args: "x"})
	_, edit := sealing.Edit(t.Context(), 1, client.Edit{MSQ: &text})
	_, all := sealing.EditAll(t.Context(), client.Filter{}, client.Edit{MSQ: &text})
	for want, err := range map[string]error{
		"a query cannot be sealed": query, "a job of RJM": rjm, "line break": lines, "var A is to stay plain": unknown, "has no keys": keyless,
		"a query cannot be sealed: ": edit, "and change it without keys": all,
	} {
		if !errors.Is(err, client.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// What an edit leaves is read as the agent gets it; what is plain is marked.
func (a *app) opened(keys *client.Keys, id client.JobID) string {
	a.t.Helper()
	p, err := a.Payload(a.t.Context(), id)
	if err != nil {
		a.t.Fatal(err)
	}
	list := []string{}
	look := func(at, text string) {
		plain, err := keys.Open(seal.Place{Type: "mail", At: at}, text)
		if err != nil {
			a.t.Fatal(err)
		} else if plain == text {
			plain += " (plain)"
		}
		list = append(list, plain)
	}
	if p.Args != nil {
		look(seal.Args, *p.Args)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Vars)) {
		look(seal.Var(name), p.Vars[name])
	}
	return strings.Join(list, ", ")
}

func TestEdit_SealsAsTheJobIs(t *testing.T) {
	t.Parallel()
	c := setup(t)
	keys := withKeys(t)
	sealing := c.WithKeys(keys)
	vars := map[string]string{"A": "secret", "B": "plain"}
	text, other, begun := "new", map[string]string{"A": "a", "B": "b", "C": "c"}, c.submit(client.Job{Type: "mail", Args: "x"})
	c.exec("update bellhop.jobqueue set state = 'cancelled', ended_at = now() where id = $1", begun)
	for name, job := range map[string]struct {
		by   *client.Client
		job  client.Job
		edit client.Edit
		want string
	}{
		"sealed":          {sealing, client.Job{Args: "x", Vars: vars, Plain: []string{"B"}}, client.Edit{Args: &text, Vars: other}, "new, a, b (plain), c"},
		"args alone":      {sealing, client.Job{Args: "x", Vars: vars, Plain: []string{"B"}}, client.Edit{Args: &text}, "new, secret, plain (plain)"},
		"under a key":     {sealing, client.Job{Args: "x", Key: "mail.1"}, client.Edit{Args: &text}, "new"},
		"without args":    {sealing, client.Job{Vars: vars}, client.Edit{Args: &text}, "new, secret, plain"},
		"plain until now": {c.Client, client.Job{Args: "x", Vars: vars}, client.Edit{Args: &text, Vars: other}, "new, a, b, c"},
		"not its texts":   {sealing, client.Job{Args: "x"}, client.Edit{MaxAttempts: 3}, "x"},
	} {
		job.job.Type = "mail"
		id, err := job.by.Submit(t.Context(), job.job)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := sealing.Edit(t.Context(), id, job.edit); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := c.opened(keys, id); got != job.want {
			t.Errorf("%s: it has %s, want %s", name, got, job.want)
		}
	}
	again, err := sealing.Submit(t.Context(), client.Job{Type: "mail", Args: "new", Key: "mail.1"})
	if err != nil {
		t.Errorf("what was edited is not known for the same as job %d: %v", again, err)
	}
	tx, err := c.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text = "of all"
	n, err := sealing.In(tx).EditAll(t.Context(), client.Filter{}, client.Edit{Args: &text, Vars: map[string]string{}})
	if err := errors.Join(err, tx.Commit(t.Context())); err != nil || n != 6 {
		t.Fatalf("%d are changed, %v", n, err)
	}
	for id := begun + 1; id <= begun+6; id++ {
		if got := c.opened(keys, id); got != "of all" {
			t.Errorf("job %d has %s", id, got)
		}
	}
	if _, err := sealing.Edit(t.Context(), begun, client.Edit{Args: &text}); !errors.Is(err, client.ErrRefused) {
		t.Errorf("of a job that is over: %v", err)
	}
}

func TestEdit_PutsNoPlainTextIntoASealedJob(t *testing.T) {
	t.Parallel()
	c := setup(t)
	keys, strange := withKeys(t), keyNamed(t, "k2")
	sealing := c.WithKeys(keys)
	id, err := sealing.Submit(t.Context(), client.Job{
		Type: "mail", Args: "x", Vars: map[string]string{"A": "a", "B": "b"}, Plain: []string{"B"},
	})
	if err != nil {
		t.Fatal(err)
	}
	bare, err := sealing.Submit(t.Context(), client.Job{Type: "mail", Vars: map[string]string{"A": "a"}})
	if err != nil {
		t.Fatal(err)
	}
	text := "xyzzy"
	envelope, err := keys.Seal(seal.Place{Type: "mail", At: seal.Args}, "by hand")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []struct {
		by   *client.Client
		id   client.JobID
		edit client.Edit
		want string
	}{
		{c.Client, id, client.Edit{Args: &text}, "is sealed, and its new args would be plain text"},
		{c.Client, id, client.Edit{Vars: map[string]string{"A": text}}, "its new var A would be plain text"},
		{c.Client, id, client.Edit{Vars: map[string]string{"NEW": text}}, "its new var NEW would be plain text"},
		{c.Client, bare, client.Edit{Args: &text}, "its new args would be plain text"},
		{c.WithKeys(strange), id, client.Edit{Args: &text}, "sealed with key k1, and the keys here are k2"},
	} {
		_, err := r.by.Edit(t.Context(), r.id, r.edit)
		var said *client.Error
		if !errors.As(err, &said) || said.Class != client.ErrInvalid || said.Rule != "jobqueue_sealed" ||
			!strings.Contains(err.Error(), r.want) || strings.Contains(err.Error()+said.Detail+said.Hint, text) {
			t.Errorf("%+v: got %v, want %q", r.edit, err, r.want)
		}
	}
	if got := c.opened(keys, id); got != "x, a, b (plain)" {
		t.Errorf("it has %s", got)
	}
	if _, err := c.Edit(t.Context(), id, client.Edit{Args: &envelope, Vars: map[string]string{"B": "c"}}); err != nil {
		t.Errorf("an envelope, and what was plain: %v", err)
	}
	if got := c.opened(keys, id); got != "by hand, c (plain)" {
		t.Errorf("it has %s", got)
	}
}
