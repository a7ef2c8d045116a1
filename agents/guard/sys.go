package guard

import "syscall"

func readFull(fd int, b []byte) error {
	for len(b) > 0 {
		n, err := syscall.Read(fd, b)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return err
		case n == 0:
			return syscall.EPIPE
		default:
			b = b[n:]
		}
	}
	return nil
}

// readAll appends a small file of /proc to b.
func readAll(path string, b []byte) ([]byte, error) {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return b, err
	}
	defer syscall.Close(fd)
	for {
		if len(b) == cap(b) {
			b = append(b, make([]byte, 512)...)[:len(b)]
		}
		n, err := syscall.Read(fd, b[len(b):cap(b)])
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return b, err
		case n <= 0:
			return b, nil
		default:
			b = b[:len(b)+n]
		}
	}
}
