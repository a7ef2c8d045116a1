package guard

import (
	"sync"
	"syscall"
	"time"
)

// lastWords keeps the end of what the way itself says on its stderr.
type lastWords struct {
	mu   sync.Mutex
	text []byte
	done chan struct{}
	once sync.Once
}

func (l *lastWords) ended() chan struct{} {
	l.once.Do(func() { l.done = make(chan struct{}) })
	return l.done
}

func (l *lastWords) read(fd int) {
	defer close(l.ended())
	buf := make([]byte, 4096)
	for {
		n, err := syscall.Read(fd, buf)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return
		}
		l.mu.Lock()
		l.text = append(l.text, buf[:n]...)
		if len(l.text) > 4*maxWords {
			l.text = append(l.text[:0], l.text[len(l.text)-2*maxWords:]...)
		}
		l.mu.Unlock()
	}
}

// because is what the way itself said last, in one line; why, where it said
// nothing.
func (l *lastWords) because(why string) string {
	select { // what it says at its end is the best of it
	case <-l.ended():
	case <-time.After(5 * time.Second):
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	text := trim(l.text)
	if len(text) > maxWords-200 {
		text = text[len(text)-(maxWords-200):]
	}
	if len(text) == 0 {
		return why
	}
	said := ""
	for i, c := range string(text) {
		switch {
		case c == '\r':
		case c == '\n' && i > 0:
			said += "; "
		default:
			said += string(c)
		}
	}
	if len(why) > 7 && why[:7] == "silent:" {
		return why + ": " + said
	}
	return said
}

func trim(b []byte) []byte {
	for len(b) > 0 && (b[len(b)-1] == '\n' || b[len(b)-1] == '\r' || b[len(b)-1] == ' ') {
		b = b[:len(b)-1]
	}
	return b
}
