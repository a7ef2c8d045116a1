package crash

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestMain: the test binary is also the program that crashes, and its helper.
func TestMain(m *testing.M) {
	if how := os.Getenv("CRASH"); how != "" {
		w, err := Start(os.Stderr)
		if err != nil {
			panic(err)
		}
		w.Hold("the first\n")
		w.Hold("all is well\n")
		switch how {
		case "panic":
			go func() { panic("out of soap") }()
			select {}
		case "fatal":
			m := map[int]int{}
			for range 8 {
				go func() {
					for {
						m[1]++
					}
				}()
			}
			select {}
		case "exit":
			os.Exit(3)
		}
		w.Stop()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestCrash_SaysTheLastSummary(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for how, says := range map[string]string{"panic": "out of soap", "fatal": "concurrent map", "exit": "", "stop": ""} {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), "CRASH="+how)
		out, _ := cmd.CombinedOutput() // which waits for the helper too: it has the same stderr
		text := string(out)
		told := strings.Contains(text, "Its last summary:\nall is well\n") && !strings.Contains(text, "the first")
		if says == "" && strings.TrimSpace(text) != "" || says != "" && (!told || !strings.Contains(text, says)) {
			t.Errorf("%s: it said %s", how, text)
		}
	}
}
