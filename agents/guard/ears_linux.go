package guard

import "syscall"

// ears wait for what can be read, by epoll.
type ears struct {
	fd     int
	events [atOnce]syscall.EpollEvent
	heard  [atOnce]int32
}

func newEars() (*ears, error) {
	fd, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	return &ears{fd: fd}, err
}

func (e *ears) add(fd int) bool {
	event := syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(fd)}
	return syscall.EpollCtl(e.fd, syscall.EPOLL_CTL_ADD, fd, &event) == nil
}

// drop comes before a close: the scheduler may have the same file open.
func (e *ears) drop(fd int) { _ = syscall.EpollCtl(e.fd, syscall.EPOLL_CTL_DEL, fd, nil) }

// wait gives the descriptors with something to read, after so many milliseconds at the latest; -1: for ever. The
// next call writes over them.
func (e *ears) wait(ms int) ([]int32, error) {
	n, err := syscall.EpollWait(e.fd, e.events[:], ms)
	n = max(0, n)
	for i := range n {
		e.heard[i] = e.events[i].Fd
	}
	return e.heard[:n], err
}
