package client_test

import (
	"errors"
	"testing"

	"bellhop/client"
)

func TestBatch(t *testing.T) {
	t.Parallel()
	a := setup(t)
	then := client.Job{Type: "report", Key: "import.7"}
	id, err := a.Batch(t.Context(), then)
	if err != nil {
		t.Fatal(err)
	}
	ok, bad := a.submit(client.Job{Type: "mail", Key: "a", Batch: id}), a.submit(client.Job{Type: "mail", Batch: id})
	if again, err := a.Batch(t.Context(), then); again != id || err != nil {
		t.Errorf("again it is %d, %v", again, err)
	}
	if again := a.submit(client.Job{Type: "mail", Key: "a", Batch: id}); again != ok {
		t.Errorf("a job that is in it already is %d", again)
	}
	if _, err := a.Release(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	a.end(ok, client.Succeeded, "")
	a.end(bad, client.Failed, "")
	count, err := a.BatchCount(t.Context(), id)
	if want := (client.BatchCount{Jobs: 2, Succeeded: 1, Failed: 1}); count != want || err != nil || count.Over() != 2 {
		t.Errorf("%+v, %v", count, err)
	}
	if _, err := a.Submit(t.Context(), client.Job{Type: "mail", Batch: 999}); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("of no batch: %v", err)
	}
	if _, err := a.BatchCount(t.Context(), 999); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("no batch: %v", err)
	}
	if value[int](a, "select count(*) from bellhop.jobqueue") != 3 {
		t.Error("a refused job is there")
	}
}
