package agents

import (
	"os"
	"path/filepath"
	"strconv"
	"sync"
)

// maxRunLog bounds the file of one run.
const maxRunLog = 64 << 20

// runLog is the file that keeps what one run of a row says, stdout and stderr
// in the order in which they were read. A run that was lost and is begun anew
// under the same number goes on in the same file. nil keeps nothing.
type runLog struct {
	mu   sync.Mutex
	file *os.File
	left int64
}

// openRunLog opens <dir>/<attachment>/<key>/<run>.log, mode 0640.
func openRunLog(dir, attachment, key string, run int) (*runLog, error) {
	folder := filepath.Join(dir, attachment, key)
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(folder, strconv.Itoa(run)+".log"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o640)
	if err != nil {
		return nil, err
	}
	if err := f.Chmod(0o640); err != nil { // whatever the umask
		_ = f.Close()
		return nil, err
	}
	return &runLog{file: f, left: maxRunLog}, nil
}

// keep writes one line. A full disk must not end what runs: bellhop.log has it too.
func (l *runLog) keep(line []byte) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left <= 0 {
		return
	}
	text := append(append(make([]byte, 0, len(line)+1), line...), '\n')
	if l.left -= int64(len(text)); l.left <= 0 {
		text = []byte("[output truncated: more than 64 MiB in one run]\n")
	}
	_, _ = l.file.Write(text)
}

func (l *runLog) close() {
	if l != nil {
		_ = l.file.Close()
	}
}
