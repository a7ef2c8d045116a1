package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a sensor passes over is in the words of `bellhop workflow explain`, until it is not passed over any more.
func TestSensors_ExplainTellsWhichFilesArePassedOver(t *testing.T) {
	t.Parallel()
	e := setup(t)
	in, outside := filepath.Join(e.dir, "in"), t.TempDir()
	if err := os.MkdirAll(filepath.Join(in, "a"), 0o700); err != nil {
		t.Fatal(err)
	}
	away := filepath.Join(in, "away")
	if err := os.Symlink(outside, away); err != nil {
		t.Fatal(err)
	}
	notUTF8 := filepath.Join(in, "a", "na\xefve.csv")
	if err := os.WriteFile(notUTF8, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	e.file("in/a/1.csv", "text", 0o600)
	e.serve(agents("type: sh, command: [sh, -c], mode: exec") + "sensors: {files: [" + in + "]}\n")
	e.ok("workflow", "apply", e.file("import.yaml", "workflow: import\nsensor: {file: \""+in+"/*/*.csv\"}\n"+
		"parameters: {FILE: \"\"}\nsteps: [{name: load, type: sh, args: \"cat ${FILE}\"}]\n", 0o600))
	e.eventually("what can be read runs", "select count(*) = 1 and bool_and(state = 'succeeded') from bellhop.run")
	e.workflowBecause("import", "sensor_remark", "it cannot look at 2 of what its pattern names")
	has(t, e.ok("workflow", "explain", "import"), "Its sensor (file) said at ",
		`it cannot look at 2 of what its pattern names, the first of them "`+away+`": `)
	if err := os.Rename(notUTF8, filepath.Join(in, "a", "naive.csv")); err != nil {
		t.Fatal(err)
	}
	e.workflowBecause("import", "sensor_remark", "it cannot look at 1 of what its pattern names")
	has(t, e.ok("workflow", "explain", "import"), `the first of them "`+away+`": `)
	e.eventually("and the renamed one", "select count(*) = 2 and bool_and(state = 'succeeded') from bellhop.run")
	if err := os.Remove(away); err != nil {
		t.Fatal(err)
	}
	e.eventually("nothing is passed over", "select remark is null from bellhop.sensor_place where workflow = 'import'")
	if text := e.ok("workflow", "explain", "import"); strings.Contains(text, "cannot look") {
		t.Errorf("it still says %q", text)
	}
}
