package api

import (
	"flag"
	"os"
	"testing"

	"bellhop/web"
)

var update = flag.Bool("update", false, "write openapi.json again")

// What the API takes and answers is on record: v1 only grows.
func TestOpenAPI_IsOnRecord(t *testing.T) {
	t.Parallel()
	text, err := Make(web.NewMux(), Config{}).Document()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("openapi.json", text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if string(golden) != string(text) {
		t.Error("openapi.json is not what the handlers are: make generate, and see that nothing went that was there")
	}
}
