package agents

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/scheduler"
)

func TestExamples_DoWhatTheySay(t *testing.T) {
	t.Parallel()
	goAgent := filepath.Join(t.TempDir(), "length")
	if out, err := exec.Command("go", "build", "-o", goAgent, "./examples/go").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	file := script(t, "three short words\n")
	for path, tt := range map[string]struct{ args, says string }{
		"examples/upper.sh": {"hello", "HELLO"},
		"examples/words.py": {file, file + ": 3 words"},
		goAgent:             {"hello", "5 bytes"},
	} {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			needPython(t, path)
			abs, err := filepath.Abs(path)
			if err != nil {
				t.Fatal(err)
			}
			b := setup(t, Spec{Command: []string{abs}})
			c := b.launch()
			c.await(scheduler.EventReady)
			c.feed(line(1, tt.args))
			if ev := c.await(scheduler.EventAnswered); !ev.OK || len(b.logged(tt.says)) != 1 {
				t.Errorf("answer is %+v, log %v", ev, b.log())
			}
		})
	}
}

// needPython skips what runs a Python program where there is no Python.
func needPython(t *testing.T, path string) {
	t.Helper()
	if filepath.Ext(path) != ".py" {
		return
	}
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3 here: apt-get install python3, or the package of your system")
	}
}

func TestExamples_ChecksumFailsWithoutDying(t *testing.T) {
	t.Parallel()
	needPython(t, "checksum.py")
	abs, err := filepath.Abs("examples/checksum.py")
	if err != nil {
		t.Fatal(err)
	}
	var entries []scheduler.Entry
	l := NewLauncher(
		Config{
			Specs: []Spec{{Type: "checksum", Command: []string{abs}}},
			Log:   func(e []scheduler.Entry) { entries = append(entries, e...) },
		},
	)
	rings := make(chan struct{}, 16)
	p, err := l.Launch("checksum", "checksum.1", "local", 0, func() { rings <- struct{}{} })
	if err != nil {
		t.Fatal(err)
	}
	p.Feed([]scheduler.Line{line(1, "/nowhere"), line(2, script(t, "x"))})
	var answers []scheduler.ChildEvent
	for len(answers) < 3 && (len(answers) == 0 || answers[len(answers)-1].Kind != scheduler.EventExited) {
		<-rings
		answers = p.Take(answers)
	}
	p.Kill()
	<-p.Done()
	if len(answers) < 3 || answers[1].OK || !strings.Contains(answers[1].Told(), "/nowhere") || !answers[2].OK {
		t.Errorf("answers are %+v", answers)
	}
	const digest = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
	if len(entries) != 0 || !strings.Contains(string(answers[2].Answer.Result), digest) {
		t.Errorf("it gave back %+v; log is %v", answers[2].Answer, entries)
	}
}
