package e2e

import (
	"os/exec"
	"testing"
)

// TestFar_WhateverTheLoginShell: what ssh is told to run there is read by the
// account's own shell.
func TestFar_WhateverTheLoginShell(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"sh", "bash", "tcsh", "csh", "zsh", "fish"} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			path, err := exec.LookPath(shell)
			if err != nil {
				t.Skipf("SKIPPED: no %s here, so hosts with it as a login shell are not tested; install %[1]s", shell)
			}
			s, e := openSSHD(t), setup(t)
			s.reboot()
			// As if it stood in the account's row of passwd.
			s.write("sshd_config", s.read("sshd_config")+"ForceCommand "+path+` -c "$SSH_ORIGINAL_COMMAND"`+"\n")
			s.start()
			e.serve("hosts:\n" + s.host("far", "slots: 1") + agents("type: sh, command: [sh, -c], mode: exec",
				"type: upper, command: ["+e.worker("upper", `echo "LOG got $line"`)+"]"))
			const words = `test "$0" != 'it''s !x' && echo "hello, world! \\ %s"; exit 3`
			id := e.insert("type, args, run_on", "sh", words, "far")
			e.waitState(id, "failed")
			if out := value[string](e, "select string_agg(line, '|') from bellhop.log where job = $1 and level <> 'note'", id); out != `hello, world! \ %s` {
				t.Errorf("it said %q", out)
			}
			if code := value[int](e, "select exit_code from bellhop.jobqueue where id = $1", id); code != 3 {
				t.Errorf("its exit code is %d", code)
			}
			e.waitState(e.insert("type, args, run_on", "upper", "x", "far"), "succeeded")
			if on := e.ranOn(id); on != "far" {
				t.Errorf("it ran on %s", on)
			}
		})
	}
}
