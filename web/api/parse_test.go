package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"bellhop/web"
)

// While one definition is parsed another waits, until its request ends or it was long enough.
func TestDefinitions_OneAtATime(t *testing.T) {
	t.Parallel()
	a := &API{parsing: make(chan struct{}, 1)}
	a.parsing <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := a.definitions(ctx, []byte("workflow: x\nsteps: [{name: a, type: t}]\n"))
	var problem *web.Problem
	if !errors.As(err, &problem) || problem.Status != http.StatusServiceUnavailable || problem.GetHeaders().Get("Retry-After") == "" {
		t.Errorf("%v", err)
	}
	<-a.parsing
	list, err := a.definitions(t.Context(), []byte("workflow: x\nsteps: [{name: a, type: t}]\n"))
	if err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
	if len(a.parsing) != 0 {
		t.Error("its turn was not given back")
	}
}

// Each route is registered with its right: what changes something needs more than to be let in.
func TestRoutes_NameTheirRights(t *testing.T) {
	t.Parallel()
	mux := web.NewMux()
	document := Make(mux, Config{}).OpenAPI()
	patterns := mux.Patterns()
	for path, item := range document.Paths {
		for method, op := range map[string]*huma.Operation{"GET": item.Get, "POST": item.Post, "PUT": item.Put,
			"PATCH": item.Patch, "DELETE": item.Delete} {
			pattern := method + " " + Prefix + path
			if is := slices.Contains(patterns, pattern); is == (op == nil) {
				t.Errorf("%s: registered: %t", pattern, is)
			}
			if op == nil || method == "GET" {
				continue
			}
			at := strings.NewReplacer("{", "", "}", "").Replace(path)
			r, err := http.NewRequestWithContext(t.Context(), method, "http://x"+Prefix+at, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			if right := mux.Right(r); right == web.Known {
				t.Errorf("%s needs no right", pattern)
			}
		}
	}
}

// FuzzBatch: whatever is sent as jobs, a line each, is read or refused.
func FuzzBatch(f *testing.F) {
	f.Add([]byte(`{"type":"sh","args":["a",{"b":1}],"vars":{"X":"y"},"timeout":"1h"}` + "\n{}"))
	f.Add([]byte(`{"type":"sh","after":[1],"wanted":["x"],"traceparent":"00-0-0-01"}`))
	f.Add([]byte(strings.Repeat("[", 200)))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, _, err := readBatch(text)
		if err == nil && (len(list) == 0 || len(list) > batchMost) {
			t.Errorf("%d jobs of %q", len(list), text)
		}
	})
}
