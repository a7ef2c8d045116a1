package guard

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// A packet is its length in four bytes and its bytes, on a stream: this system's unix sockets keep no packets apart
// that are also told of their other end's end.
const lengthSize = 4

// roomOfPackets is more than the longest packet, which should go in one piece.
const roomOfPackets = 256 << 10

// SocketPair is one on which packets go as a whole, with descriptors. Both ends close on exec.
func SocketPair() ([2]int, error) { return StreamPair() }

// StreamPair is a pair of sockets on which bytes go. Both close on exec.
func StreamPair() (pair [2]int, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if pair, err = syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0); err != nil {
		return pair, err
	}
	for _, fd := range pair {
		syscall.CloseOnExec(fd)
		_ = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_SNDBUF, roomOfPackets)
		_ = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_RCVBUF, roomOfPackets)
		_ = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_NOSIGPIPE, 1)
	}
	return pair, nil
}

// SendPacket sends one, with the rights to descriptors; EAGAIN: nothing of it is sent.
func SendPacket(fd int, packet, rights []byte) error {
	b := append(put32(make([]byte, 0, lengthSize+len(packet)), uint32(len(packet))), packet...)
	n, err := unix.SendmsgN(fd, b, rights, nil, 0)
	if err != nil {
		return err
	}
	for b = b[n:]; len(b) > 0; b = b[n:] { // once begun, it goes as a whole
		switch n, err = syscall.Write(fd, b); err {
		case nil:
		case syscall.EAGAIN, syscall.EINTR:
			n = 0
			_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, -1)
		default:
			return err
		}
	}
	return nil
}

// receivePacket takes one that has come, with its descriptors, which close on exec.
func receivePacket(fd int, packet []byte) (n int, files []int, err error) {
	var length [lengthSize]byte
	oob := make([]byte, syscall.CmsgSpace(handed*4))
	n, oobn, _, _, err := syscall.Recvmsg(fd, length[:], oob, syscall.MSG_DONTWAIT)
	if err != nil || n == 0 {
		return n, nil, err
	}
	files = rights(oob[:oobn])
	for _, fd := range files {
		syscall.CloseOnExec(fd)
	}
	if err := readFull(fd, length[n:]); err != nil {
		return 0, files, err
	}
	size := int(le32(length[:]))
	if size > len(packet) {
		return 0, files, syscall.EMSGSIZE
	}
	return size, files, readFull(fd, packet[:size])
}

// packetsEnv tells a guard so where the socket does not.
var packetsEnv = []string{"BELLHOP_WARDS=1"}

// takesPackets tells the socket on which wards come from the link of one agent.
func takesPackets(int) bool { return os.Getenv("BELLHOP_WARDS") != "" }
