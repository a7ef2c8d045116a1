package agents

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// preset runs one command of a shipped engine beside programs that give recorded answers, and gives what it says, its
// exit code, and with what those were called.
func preset(t *testing.T, name, op, options, in string, programs map[string]string, args ...string) (
	out string, code int, called string) {
	t.Helper()
	dir := t.TempDir()
	for program, text := range programs {
		script := "#!/bin/sh\necho \"" + program + " $*\" >> " + dir + "/called\n" + text + "\n"
		if err := os.WriteFile(filepath.Join(dir, program), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	argv := append(EnginePreset(name, op), args...)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(in)
	path := "PATH=" + dir + ":" + os.Getenv("PATH")
	cmd.Env = []string{path, "BELLHOP_OPTIONS=" + options, "BELLHOP_JOB_ID=7", "TMPDIR=" + dir}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	said, err := cmd.Output()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "called"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if stderr.Len() > 0 {
		t.Logf("%s %s: %s", name, op, stderr.String())
	}
	return string(said), cmd.ProcessState.ExitCode(), string(text)
}

// What squeue of Slurm 22.05 and of later versions says.
func TestPreset_SlurmReadsBothFormsOfExitCodes(t *testing.T) {
	t.Parallel()
	programs := map[string]string{"sacct": "exit 1", "squeue": `cat <<'END'
bellhop-1-1                     1      PENDING      0
bellhop-2-1                     2      RUNNING      0
bellhop-3-1                     3      COMPLETED    0
bellhop-4-1                     4      FAILED       768
bellhop-5-1                     5      FAILED       3:0
bellhop-6-1                     6      CANCELLED    15
bellhop-7-1                     7      TIMEOUT      0:9
somebody-else                   8      FAILED       256
END`}
	in := "bellhop-1-1 1\nbellhop-2-1\nbellhop-3-1 3\nbellhop-4-1 4\nbellhop-5-1 5\nbellhop-6-1 6\nbellhop-7-1 7\nbellhop-9-1 9\n"
	out, code, _ := preset(t, "slurm", "poll", "", in, programs)
	want := "bellhop-1-1 pending\nbellhop-2-1 running\nbellhop-3-1 succeeded 0\nbellhop-4-1 failed 3 failed\n" +
		"bellhop-5-1 failed 3 failed\nbellhop-6-1 failed 143 cancelled\nbellhop-7-1 failed 137 timeout\n"
	if code != 0 || out != want {
		t.Errorf("exit code %d, %s\nwant %s", code, out, want)
	}
	// What squeue has forgotten is with the accounting.
	programs["sacct"] = "echo 'bellhop-9-1 9 COMPLETED 0:0'"
	if out, _, called := preset(t, "slurm", "poll", "", "bellhop-9-1 9\n", programs); out != "bellhop-9-1 succeeded 0\n" {
		t.Errorf("%s, called %s", out, called)
	}
	// And where it does not answer, nothing is said.
	programs["squeue"] = "echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1"
	if out, code, _ := preset(t, "slurm", "poll", "", in, programs); out != "" || code == 0 {
		t.Errorf("exit code %d, %s", code, out)
	}
}

func TestPreset_KubernetesByRecordedAnswers(t *testing.T) {
	t.Parallel()
	kubectl := map[string]string{"kubectl": `case "$*" in
*create*) cat > made; echo job.batch/bellhop-7-1 ;;
*"get jobs"*) printf '%s\n' 'bellhop-1-1 a1 1 0 0' 'bellhop-2-1 a2 0 1 0' 'bellhop-3-1 a3 0 0 1' 'bellhop-4-1 a4 1 0 0' ;;
*"get pods"*) printf '%s\n' 'bellhop-1-1 Running ' 'bellhop-2-1 Succeeded 0 Completed' 'bellhop-3-1 Failed 3 Error' 'bellhop-4-1 Pending - ErrImagePull' ;;
esac`}
	options := "--image=debian:bookworm\n--namespace=work\n--memory=1Gi"
	echoes := map[string]string{"kubectl": "cat >> called; echo job.batch/x"}
	out, code, called := preset(t, "kubernetes", "submit", options, "", echoes, "bellhop-7-1", "echo", "it's \"7\"\\\n")
	if code != 0 || out != "bellhop-7-1\n" ||
		!strings.HasPrefix(called, "kubectl --namespace=work create ") ||
		!strings.Contains(called, `"command": ["echo", "it's \"7\"\\\n"]`) || !strings.Contains(called, `"limits": {"memory": "1Gi"}`) ||
		!strings.Contains(called, `{"name": "BELLHOP_JOB_ID", "value": "7"}`) ||
		!strings.Contains(called, `"backoffLimit": 0`) {
		t.Errorf("exit code %d, said %q, called %s", code, out, called)
	}
	in := "bellhop-1-1\nbellhop-2-1\nbellhop-3-1\nbellhop-4-1\nbellhop-5-1\n"
	out, code, _ = preset(t, "kubernetes", "poll", options, in, kubectl)
	if want := "bellhop-1-1 running\nbellhop-2-1 succeeded 0\nbellhop-3-1 failed 3 Error\nbellhop-4-1 pending ErrImagePull\n"; code != 0 || out != want {
		t.Errorf("exit code %d, %s\nwant %s", code, out, want)
	}
	if out, code, _ = preset(t, "kubernetes", "find", options, "bellhop-3-1\nbellhop-9-1\n", kubectl); code != 0 || out != "bellhop-3-1 bellhop-3-1\n" {
		t.Errorf("exit code %d, %s", code, out)
	}
	down := map[string]string{"kubectl": "echo 'The connection to the server was refused' >&2; exit 1"}
	for _, op := range []string{"find", "poll", "submit"} {
		if out, code, _ = preset(t, "kubernetes", op, options, in, down, "bellhop-1-1", "x"); code != 1 || out != "" {
			t.Errorf("%s: exit code %d, %s", op, code, out)
		}
	}
	// A Job that is gone keeps no other alive; what cannot be asked has killed nothing.
	gone := map[string]string{"kubectl": `case "$*" in
*bellhop-1-1*) echo 'Error from server (NotFound): jobs.batch "bellhop-1-1" not found' >&2; exit 1 ;;
*) echo "$*" >> called ;;
esac`}
	if _, code, called = preset(t, "kubernetes", "kill", options, "bellhop-1-1\nbellhop-2-1\n", gone); code != 0 ||
		!strings.Contains(called, "patch job bellhop-2-1") {
		t.Errorf("kill beside one that is gone: exit code %d, called %s", code, called)
	}
	missing := map[string]string{"kubectl": "echo 'sh: kubectl: not found' >&2; exit 127"}
	for says, kubectl := range map[string]map[string]string{"server is down": down, "program is missing": missing} {
		if _, code, _ = preset(t, "kubernetes", "kill", options, "bellhop-1-1\n", kubectl); code != 1 {
			t.Errorf("kill where the %s: exit code %d", says, code)
		}
	}
	if _, code, _ = preset(t, "kubernetes", "submit", "--nope", "", kubectl, "bellhop-1-1", "x"); code != 65 {
		t.Errorf("an option that is none: exit code %d", code)
	}
}

func TestPreset_SparkByRecordedAnswers(t *testing.T) {
	t.Parallel()
	programs := map[string]string{
		"spark-submit": `echo '26/11/23 08:00:00 INFO YarnClientImpl: Submitted application application_1700000000000_0042' >&2`,
		"yarn": `printf '%s\n' 'Total number of applications (application-types: [], states: [ALL]):4' \
'                Application-Id	    Application-Name	    Application-Type	      User	     Queue	             State	       Final-State	       Progress	                       Tracking-URL'
printf '%s\t%s\tSPARK\tme\troot\t%s\t%s\t10%%\tN/A\n' application_1_1 '  bellhop-1-1' ACCEPTED UNDEFINED application_1_2 bellhop-2-1 RUNNING UNDEFINED \
 application_1_3 bellhop-3-1 FINISHED SUCCEEDED application_1_4 bellhop-4-1 FINISHED FAILED application_1_5 bellhop-5-1 KILLED KILLED application_1_6 other RUNNING UNDEFINED`,
	}
	out, code, called := preset(t, "spark", "submit", "--class\nMain\n/apps/x.jar", "", programs, "bellhop-1-1", "--day", "2026-11-23")
	if code != 0 || out != "application_1700000000000_0042\n" || !strings.Contains(called, "--name bellhop-1-1 ") ||
		!strings.HasSuffix(called, "--class Main /apps/x.jar --day 2026-11-23\n") {
		t.Errorf("exit code %d, said %q, called %s", code, out, called)
	}
	in := "bellhop-1-1 application_1_1\nbellhop-2-1\nbellhop-3-1\nbellhop-4-1\nbellhop-5-1\nbellhop-6-1\n"
	out, code, _ = preset(t, "spark", "poll", "", in, programs)
	want := "bellhop-1-1 pending\nbellhop-2-1 running\nbellhop-3-1 succeeded 0\nbellhop-4-1 failed 1 failed\nbellhop-5-1 failed 1 killed\n"
	if code != 0 || out != want {
		t.Errorf("exit code %d, %s\nwant %s", code, out, want)
	}
	if _, _, called = preset(t, "spark", "kill", "", "bellhop-2-1\nbellhop-3-1\n", programs); !strings.Contains(called, "-kill application_1_2") ||
		strings.Contains(called, "-kill application_1_3") {
		t.Errorf("called %s", called)
	}
	programs["yarn"] = "exit 255"
	if out, code, _ = preset(t, "spark", "poll", "", in, programs); code == 0 || out != "" {
		t.Errorf("exit code %d, %s", code, out)
	}
}
