package agents

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bellhop/scheduler"
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

// hostile are vars whose values would be something else to a shell, to YARN or to Kubernetes, and whose names are those
// of the variables that a script could have. Spark, and what asks for control characters, has some of its own.
var hostile = map[string]string{
	"CUSTOMER": "42", "EMPTY": "", "QUOTES": `it's "$HOME" \ \\ \" $(touch broken) ` + "`touch broken`", "MARKS": "$(CUSTOMER) $$(CUSTOMER) $$ $",
	"YARN": "{{HOME}} }}{{{ <CPS> <LOG_DIR> a<b", "BLANKS": " \t a  b \t ", "LINES": "\na\n\nb\n\n", "STARS": "* ? [a-z] --image=x", "UTF": "Größe 🙂",
	"tag": "1", "op": "2", "name": "3", "value": "4", "env": "5", "namespace": "6", "image": "7", "said": "8",
	"code": "9", "word": "10", "from": "11",
}

// handed calls the submit of a shipped engine with these vars, as the launcher does, and gives what its program wrote
// into files of these names.
func handed(t *testing.T, name, program string, vars map[string]string, options []string, files ...string) []string {
	t.Helper()
	dir := t.TempDir()
	text := "#!/bin/sh\n" + strings.ReplaceAll(program, "DIR", dir) + "\n"
	for _, p := range []string{"docker", "kubectl", "spark-submit", "sbatch"} {
		if err := os.WriteFile(filepath.Join(dir, p), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	given, err := json.Marshal(vars)
	if err != nil {
		t.Fatal(err)
	}
	spec := Spec{Type: testType, Vars: []string{"*"}, WorkDir: dir, Env: map[string]string{"PATH": dir + ":" + os.Getenv("PATH")},
		Engine: &EngineCommands{Shipped: name, Options: options, Run: []string{"run", "it's $(1)"}, Timeout: time.Minute,
			Ops: map[string][]string{"submit": EnginePreset(name, "submit")}}}
	b := setup(t, spec)
	l := line(7, "$$ args")
	l.Vars = scheduler.Vars(given)
	said := b.launcher.RunEngine(t.Context(), scheduler.EngineCall{Type: testType, Op: "submit", Args: []string{"bellhop-7-1"}, Line: &l},
		func() time.Duration { return time.Minute })
	if said.Failed != "" {
		t.Fatalf("%s: %+v", name, said)
	}
	if _, err := os.Stat(filepath.Join(dir, "broken")); err == nil {
		t.Errorf("%s: a var was run as a command", name)
	}
	var got []string
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(dir, f))
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(text))
	}
	return got
}

// environ is what env -0 wrote.
func environ(text string) map[string]string {
	vars := map[string]string{}
	for pair := range strings.SplitSeq(strings.TrimSuffix(text, "\x00"), "\x00") {
		name, value, _ := strings.Cut(pair, "=")
		vars[name] = value
	}
	return vars
}

func gets(t *testing.T, where string, got, want map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if value, there := got[name]; !there || value != want[name] {
			t.Errorf("%s: var %s is %q (there: %v), not %q", where, name, value, there, want[name])
		}
	}
	if got["BELLHOP_JOB_ID"] != "7" {
		t.Errorf("%s: the job's id is %q", where, got["BELLHOP_JOB_ID"])
	}
}

// Docker takes the values from the environment: none is on a command line.
func TestPreset_DockerGetsTheVars(t *testing.T) {
	t.Parallel()
	got := handed(t, "docker", `printf '%s\0' "$@" >DIR/argv; env -0 >DIR/env`, hostile, []string{"--env=LANG", "debian"}, "argv", "env")
	argv := strings.Split(strings.TrimSuffix(got[0], "\x00"), "\x00")
	all, byName := environ(got[1]), map[string]string{}
	for i, word := range argv {
		if name, is := strings.CutPrefix(word, "--env="); is {
			byName[name] = all[name]
		} else if word == "--env" {
			byName[argv[i+1]] = all[argv[i+1]]
		}
	}
	gets(t, "docker", byName, hostile)
	if !slices.Contains(argv, "bellhop-7-1") || strings.Contains(got[0], "touch") ||
		!strings.HasSuffix(got[0], "\x00--env=LANG\x00debian\x00run\x00it's $(1)\x00$$ args\x00") {
		t.Errorf("docker is called as %q", argv)
	}
}

func TestPreset_SlurmGetsTheVars(t *testing.T) {
	t.Parallel()
	gets(t, "slurm", environ(handed(t, "slurm", `env -0 >DIR/env; echo 1`, hostile, nil, "env")[0]), hostile)
}

// The words and the vars of a Job are what they were, once Kubernetes has put in what it takes for variables.
func TestPreset_KubernetesGetsTheVars(t *testing.T) {
	t.Parallel()
	vars := maps.Clone(hostile)
	vars["CONTROL"] = "\x01a\x01\x02\x1b[0m\x7f\x01\x01"
	got := handed(t, "kubernetes", `printf '%s\0' "$@" >DIR/argv; cat >DIR/job`, vars, []string{"--image=debian", "--namespace=work"}, "argv", "job")
	if !strings.Contains(got[0], "--namespace=work\x00create") || strings.Contains(got[0], "touch") {
		t.Errorf("kubectl is called as %q", got[0])
	}
	var job struct {
		Spec struct {
			Template struct {
				Spec struct {
					Containers []struct {
						Image   string
						Command []string
						Env     []struct{ Name, Value string }
					}
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(got[1]), &job); err != nil {
		t.Fatalf("%v in %s", err, got[1])
	}
	c := job.Spec.Template.Spec.Containers[0]
	put := func(s string) string { // as Kubernetes does where each $ is another's escape
		if strings.Contains(strings.ReplaceAll(s, "$$", ""), "$") {
			t.Errorf("Kubernetes would put variables into %q", s)
		}
		return strings.ReplaceAll(s, "$$", "$")
	}
	env := map[string]string{}
	for _, e := range c.Env {
		env[e.Name] = put(e.Value)
	}
	gets(t, "kubernetes", env, vars)
	for i := range c.Command {
		c.Command[i] = put(c.Command[i])
	}
	if want := []string{"run", "it's $(1)", "$$ args"}; c.Image != "debian" || !slices.Equal(c.Command, want) {
		t.Errorf("image %s runs %q, not %q", c.Image, c.Command, want)
	}
}

// The driver and the executors of Spark get the vars, once Spark and YARN have done to them what they do: Spark cuts
// blanks at both ends, and YARN writes them between double quotes into a script.
func TestPreset_SparkGetsTheVars(t *testing.T) {
	t.Parallel()
	argv := strings.Split(handed(t, "spark", `printf '%s\0' "$@" >DIR/argv; echo application_1_1`, hostile, []string{"--class", "Main", "x.jar"}, "argv")[0], "\x00")
	tail := []string{"--class", "Main", "x.jar", "run", "it's $(1)", "$$ args", ""}
	if !slices.Equal(argv[len(argv)-len(tail):], tail) {
		t.Errorf("spark-submit is called as %q", argv)
	}
	yarn := strings.NewReplacer("<CPS>", ":", "<LOG_DIR>", "/logs", "{{", "$", "}}", "")
	for _, role := range []string{"spark.yarn.appMasterEnv.", "spark.executorEnv."} {
		dir := t.TempDir()
		var script strings.Builder
		for i, word := range argv {
			if setting, is := strings.CutPrefix(word, role); is && argv[i-1] == "--conf" {
				name, value, _ := strings.Cut(setting, "=")
				fmt.Fprintf(&script, "export %s=\"%s\"\n", name, yarn.Replace(strings.TrimSpace(value)))
			}
		}
		cmd := exec.Command("bash", "-c", script.String()+"exec env -0")
		cmd.Dir = dir
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v:\n%s", role, err, script.String())
		}
		gets(t, role, environ(string(out)), hostile)
		if files, _ := os.ReadDir(dir); len(files) > 0 {
			t.Errorf("%s: a var was run as a command", role)
		}
	}
}

// What an engine cannot hand on as it is, is refused; so is what would change where the work goes.
func TestPreset_VarsThatAreRefused(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 32<<10)
	for _, c := range []struct{ engine, name, value, says string }{
		{"docker", "A", long[1:], ""}, {"docker", "A", long, "at most 32768"}, {"kubernetes", "A", long, "at most 32768"}, {"spark", "A", long, "at most 32768"},
		{"docker", "A\nHOME", "1", "letters"}, {"spark", "A$(id)", "1", "letters"}, {"kubernetes", "a.b", "1", "letters"}, {"docker", "1A", "1", "letters"},
		{"docker", "DOCKER_HOST", "tcp://other", "in full"}, {"spark", "SPARK_HOME", "/tmp", "in full"}, {"spark", "DOCKER_HOST", "1", ""},
		{"docker", "DOCKER_NAMED", "1", ""}, {"slurm", "A", long, ""}, {"", "a.b", long, ""},
		{"slurm", "a.b", "1", "letters"}, {"slurm", "SBATCH_EXPORT", "NONE", "in full"}, {"slurm", "PWD", "/x", "itself"},
		{"docker", "PPID", "7", "itself"}, {"docker", "HTTPS_PROXY", "http://other", "in full"}, {"spark", "PWD", "/x", ""},
	} {
		engine, allowed := &EngineCommands{Shipped: c.engine}, []string{"*", "DOCKER_NAMED"}
		_, names, err := engine.handVars(allowed, map[string]string{c.name: c.value})
		said := fmt.Sprint(err)
		refused := err != nil && strings.HasPrefix(said, "vars_refused: ") && strings.Contains(said, c.says)
		if c.says == "" && err != nil || c.says != "" && !refused {
			t.Errorf("%s with var %q: %q, %v", c.engine, c.name, names, err)
		}
	}
}
