package fleet

import (
	"testing"

	"bellhop/config"
)

// A shipped submit hands vars on in a way of its own; a submit of the user's own gets them by their names.
func TestEngineCommands_OnlyAShippedSubmitIsOne(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		engine config.Engine
		want   string
	}{
		{config.Engine{Name: "docker"}, "docker"},
		{config.Engine{Name: "docker", Poll: []string{"./poll"}}, "docker"},
		{config.Engine{Name: "docker", Submit: []string{"./submit"}}, ""},
		{config.Engine{Name: "engine", Submit: []string{"./submit"}}, ""},
	} {
		if got := engineCommands(config.Agent{Engine: c.engine}).Shipped; got != c.want {
			t.Errorf("%+v: the shipped submit is of %q, not %q", c.engine, got, c.want)
		}
	}
}
