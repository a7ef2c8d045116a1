package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Twenty files that are there at once are twenty runs, one after the other: none is thrown away for another.
func TestSensors_EachOfTwentyFilesRuns(t *testing.T) {
	t.Parallel()
	e := setup(t)
	in := filepath.Join(e.dir, "in")
	if err := os.Mkdir(in, 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		name := e.file(fmt.Sprintf("in/%02d.csv", i), "text", 0o600)
		if err := os.Chtimes(name, time.Time{}, time.Now().Add(-time.Hour)); err != nil { // it was written long ago
			t.Fatal(err)
		}
	}
	e.serve(agents("type: sh, command: [sh, -c], mode: exec") + "sensors: {files: [" + in + "]}\n")
	e.ok("workflow", "apply", e.file("import.yaml", "workflow: import\nsensor: {file: \""+in+"/*.csv\"}\nparameters: {FILE: \"\"}\n"+
		"steps: [{name: load, type: sh, args: \"cat ${FILE}\"}]\n", 0o600))
	e.eventually("each file came to a run that is over", "select count(*) = 20 and bool_and(state = 'succeeded') from bellhop.run")
	if n := value[int](e, "select count(distinct args) from bellhop.jobqueue where step = 'load'"); n != 20 {
		t.Errorf("they were runs of %d files", n)
	}
	const together = "select count(*) from bellhop.run a join bellhop.run b on b.id > a.id and b.started_at < a.ended_at"
	if n := value[int](e, together); n != 0 {
		t.Errorf("%d runs began before another was over", n)
	}
}
