package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"bellhop/config"
	"bellhop/scheduler"
	"bellhop/scheduler/workflow"
	"bellhop/sql/view"
	"bellhop/web"
)

// definitionMost is how long the body of definitions may be, and parsePatience how long a request waits for its turn to
// have one parsed.
const (
	definitionMost = 256 << 10
	parsePatience  = 5 * time.Second
)

// boundedJSON is huma's JSON, but for bodies whose levels nothing needs.
var boundedJSON = huma.Format{Marshal: huma.DefaultJSONFormat.Marshal, Unmarshal: unmarshal}

// unmarshal reads JSON of bounded nesting.
func unmarshal(text []byte, v any) error {
	if scheduler.TooNested(text) {
		return fmt.Errorf("lists and objects more than %d levels deep", scheduler.NestedMost)
	}
	return json.Unmarshal(text, v)
}

// definitions reads what is sent as bellhop workflow apply reads files: YAML, of which JSON is a part. One body is
// parsed at a time, whatever is sent at once, and a request that has ended waits no longer.
func (a *API) definitions(ctx context.Context, text []byte) ([]workflow.Definition, error) {
	if len(text) > definitionMost {
		return nil, refused(http.StatusRequestEntityTooLarge, "too_large", "bellhop workflow import FILE   takes more",
			"definitions are longer than %d bytes", definitionMost)
	}
	ctx, cancel := context.WithTimeout(ctx, parsePatience)
	defer cancel()
	select {
	case a.parsing <- struct{}{}:
		defer func() { <-a.parsing }()
	case <-ctx.Done():
		return nil, refused(http.StatusServiceUnavailable, "busy", "ask again later", "another definition is being read")
	}
	list, err := config.Workflows(config.File{Name: "body", Text: text})
	if err != nil {
		return nil, refused(
			http.StatusUnprocessableEntity,
			"bad_definition",
			"docs/workflows.md has what stands in one",
			"%s",
			err.Error(),
		)
	}
	if len(list) == 0 {
		return nil, unfit("there is no workflow in it")
	}
	return list, nil
}

// changeBy registers a route whose body is made sense of before its transaction begins: what takes long to read keeps
// no connection from others.
func changeBy[I, P, O any](
	a *API, op huma.Operation, prepare func(context.Context, *I) (P, error),
	fn func(context.Context, view.Look, *I, P) (*O, error),
) {
	huma.Register(a, op, func(ctx context.Context, in *I) (out *O, err error) {
		prepared, err := prepare(ctx, in)
		if err != nil {
			return nil, err
		}
		err = a.Visitors.As(ctx, web.CallerOf(ctx).Role, func(l view.Look) (err error) {
			out, err = fn(ctx, l, in, prepared)
			return err
		})
		if err != nil {
			return nil, a.problem(ctx, err)
		}
		return out, nil
	})
}
