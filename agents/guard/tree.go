package guard

import "syscall"

// node is a process seen in the tree, with the parent it was seen under.
type node struct{ pid, parent int }

// KillTree sends SIGKILL to every descendant of root (not to root itself) that
// it finds. All are stopped first, parents before children, so that a fork
// bomb cannot outrun the walk. It does not wait: call it until nothing is left.
func KillTree(root int) { kill(nil, root) }

// killTrees does the same with agents of ours and their strays, themselves included.
func killTrees(roots []int) {
	tree := make([]node, len(roots))
	for i, pid := range roots {
		tree[i] = node{pid, parentOfStray(pid)}
		send(tree[i], syscall.SIGSTOP)
	}
	kill(tree, 0)
}

// kill kills tree, and what descends from it and from root.
func kill(tree []node, root int) {
	for range 20 {
		known := len(tree)
		tree = grow(tree, root)
		for _, n := range tree[known:] {
			send(n, syscall.SIGSTOP)
		}
		if len(tree) == known {
			break
		}
	}
	for _, n := range tree {
		send(n, syscall.SIGKILL)
	}
}

// Descendants lists the pids below root, parents before children, zombies too.
func Descendants(root int) []int {
	tree := grow(nil, root)
	pids := make([]int, len(tree))
	for i, n := range tree {
		pids[i] = n.pid
	}
	return pids
}

// grow adds to tree the descendants of root that are not yet in it.
func grow(tree []node, root int) []node {
	seen := make(map[node]bool, len(tree))
	for _, n := range tree {
		seen[n] = true
	}
	if root != 0 {
		tree = growUnder(tree, seen, root)
	}
	for i := 0; i < len(tree); i++ {
		tree = growUnder(tree, seen, tree[i].pid)
	}
	return tree
}

func growUnder(tree []node, seen map[node]bool, parent int) []node {
	for _, pid := range children(parent) {
		if n := (node{pid, parent}); !seen[n] {
			seen[n] = true
			tree = append(tree, n)
		}
	}
	return tree
}

// send sends sig if the process is still the one seen under that parent. Our
// own children keep their pid until we reap them; any other's could have been
// given to a stranger meanwhile, so it is pinned and looked at again.
func send(n node, sig syscall.Signal) {
	if n.parent == syscall.Getpid() {
		_ = syscall.Kill(n.pid, sig)
		return
	}
	pinned, err := Pin(n.pid)
	if err != nil {
		return
	}
	defer pinned.Free()
	if s, ok := ReadStat(n.pid); ok && s.Parent == n.parent {
		_ = pinned.Signal(sig)
	}
}

// Stat is what the system says of a process.
type Stat struct {
	State   byte // 'Z' is dead, and only waits for its parent
	Parent  int
	Session int
	Start   uint64 // as Ticks counts; with the pid it names a process for good
	Leaving bool   // it has given up its memory: it is about to be dead
}

// Dead reports whether the process runs no more.
func (s Stat) Dead() bool { return s.State == 'Z' || s.State == 'X' }

// number reads the digits at the start of b.
func number(b []byte) (v uint64, used int) {
	for used < len(b) && b[used] >= '0' && b[used] <= '9' {
		v = v*10 + uint64(b[used]-'0')
		used++
	}
	return v, used
}

func decimal(n int) string {
	var b [20]byte
	i := len(b)
	for {
		i--
		b[i] = byte('0' + n%10)
		if n /= 10; n == 0 {
			return string(b[i:])
		}
	}
}
