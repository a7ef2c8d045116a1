package guard

import "golang.org/x/sys/unix"

// ears wait for what can be read, by kqueue.
type ears struct {
	fd     int
	events [atOnce]unix.Kevent_t
	heard  [atOnce]int32
}

func newEars() (*ears, error) {
	fd, err := unix.Kqueue()
	if err == nil {
		unix.CloseOnExec(fd)
	}
	return &ears{fd: fd}, err
}

func (e *ears) add(fd int) bool { return e.change(fd, unix.EV_ADD) }

// drop comes before a close: the scheduler may have the same file open.
func (e *ears) drop(fd int) { e.change(fd, unix.EV_DELETE) }

func (e *ears) change(fd, flags int) bool {
	var event unix.Kevent_t
	unix.SetKevent(&event, fd, unix.EVFILT_READ, flags)
	_, err := unix.Kevent(e.fd, []unix.Kevent_t{event}, nil, nil)
	return err == nil
}

// wait gives the descriptors with something to read, after so many milliseconds at the latest; -1: for ever. The
// next call writes over them.
func (e *ears) wait(ms int) ([]int32, error) {
	var limit *unix.Timespec
	if ms >= 0 {
		t := unix.NsecToTimespec(int64(ms) * 1e6)
		limit = &t
	}
	n, err := unix.Kevent(e.fd, nil, e.events[:], limit)
	n = max(0, n)
	for i := range n {
		e.heard[i] = int32(e.events[i].Ident)
	}
	return e.heard[:n], err
}
