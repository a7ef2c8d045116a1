package rjm

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/sql/view"
)

// evaluateScript finds out what a configuration assigns, in a restricted bash that finds no program: it can start
// nothing, and write to no file. A mark that cannot be guessed stands between what the text prints and what we do.
// It is parsed as a function first: errors are told before anything is done.
const evaluateScript = `eval "parse() { :"$'\n'"$1"$'\n'"}" || exit 65
eval "$1" </dev/null
printf '%s\0' "$2" "${#rjm_blocks[@]}" "${#rjm_locks[@]}" "${rjm_blocks[@]}" "${rjm_locks[@]}" "${rjm_delete[@]}" "$2"
compgen -A variable rjm_
exit 0`

// maxConfig is what a configuration may have in bytes: an environment variable
// may not be longer than 128 KiB. The queue refuses longer ones too.
const maxConfig = 100_000

// evaluatePatience is how long a configuration may take: assignments take no time.
const evaluatePatience = 10 * time.Second

// evaluateConfig finds rjm_blocks, rjm_locks and rjm_delete in the text of a configuration.
func evaluateConfig(ctx context.Context, s *view.RJMSetup) error {
	if strings.Contains(s.Config, "\x00") {
		return cli.Usage("rjmsetup", "the configuration on stdin holds a zero byte", "want assignments of bash, or JSON")
	}
	if len(s.Config) > maxConfig {
		return cli.Usage("rjmsetup", "the configuration on stdin is longer than 100000 bytes", "put long values into a file, and name that")
	}
	ctx, cancel := context.WithTimeout(ctx, evaluatePatience)
	defer cancel()
	mark := rand.Text()
	cmd := exec.CommandContext(ctx, "bash", "--norc", "--noprofile", "--restricted", "-c", evaluateScript, "configuration",
		s.Config, mark)
	cmd.Env = []string{"PATH=/nonexistent", "LANG=C.UTF-8"}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	said, err := cmd.Output()
	if errors.Is(err, exec.ErrNotFound) {
		return cli.Usage("rjmsetup", "there is no bash here to read the configuration", "use --set, --block, --lock and --delete, or JSON")
	}
	parts := strings.Split(string(said), mark+"\x00")
	if err != nil || len(parts) < 3 {
		why := "it does not end"
		if stderr.Len() > 0 {
			why = cli.Flat(stderr.String())
		}
		return cli.Usage("rjmsetup", "the configuration on stdin is more than assignments of bash, or wrong: "+why, "bash -n shows mistakes")
	}
	for _, name := range strings.Fields(parts[len(parts)-1]) {
		if !slices.Contains(listNames, name) {
			return cli.Usage("rjmsetup", name+": the only names that begin with rjm_ are "+listWords, "choose another name")
		}
	}
	words := strings.Split(strings.TrimSuffix(parts[len(parts)-2], "\x00"), "\x00")
	blocks, err := strconv.Atoi(words[0])
	locks, err2 := strconv.Atoi(words[1])
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	words = words[2:]
	s.Blocks, s.Locks, s.Files = words[:blocks], words[blocks:blocks+locks], words[blocks+locks:]
	return nil
}

// taskScript does one job: the tasks file, then the job's configuration, whose
// plain variables programs see too, then the task: a function or a program.
const taskScript = `type=${BELLHOP_KEY%%.*}
[ ! -r "$RJM_TASKS" ] || . "$RJM_TASKS"
set -a
eval "$RJM_CONFIG"
set +a
unset RJM_CONFIG
"task_$type"`
