package guard

import "syscall"

// SocketPair is one on which packets go as a whole, with descriptors. Both ends close on exec.
func SocketPair() ([2]int, error) {
	return syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC, 0)
}

// SendPacket sends one, with the rights to descriptors; EAGAIN: nothing of it is sent.
func SendPacket(fd int, packet, rights []byte) error {
	return syscall.Sendmsg(fd, packet, rights, nil, syscall.MSG_NOSIGNAL)
}

// receivePacket takes one that has come, with its descriptors, which close on exec.
func receivePacket(fd int, packet []byte) (n int, files []int, err error) {
	oob := make([]byte, syscall.CmsgSpace(handed*4))
	n, oobn, _, _, err := syscall.Recvmsg(fd, packet, oob, syscall.MSG_CMSG_CLOEXEC|syscall.MSG_DONTWAIT)
	return n, rights(oob[:max(0, oobn)]), err
}

// takesPackets tells the socket on which wards come from the link of one agent.
func takesPackets(fd int) bool {
	kind, err := syscall.GetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_TYPE)
	return err == nil && kind == syscall.SOCK_SEQPACKET
}

// packetsEnv tells a guard so where the socket does not.
var packetsEnv []string
