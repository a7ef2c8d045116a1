package guard

import (
	"runtime"
	"syscall"
)

// FarFlag makes a program called bh-guard… the far end of a line.
const FarFlag = "--far"

// greeting begins each line of the far side before it speaks frames. The number
// is that of what the two guards speak: another version says another.
const greeting = "bellhop-far 1 "

// Bootstrap is a script for sh on the far side. Its arguments are what names the program that is to be the guard
// there, and the agent's argv. It starts that guard, and has it sent first if it is not there yet. It trusts no
// folder of another user.
const Bootstrap = `name=$1; shift
ours() { [ -d "$1" ] && [ -O "$1" ] && [ ! -L "$1" ]; }
say() { printf '\n` + greeting + `%s\n' "$*"; }
home=${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/bellhop
temp=${TMPDIR:-/tmp}/bellhop-$(id -u)
for d in "$home" "$temp"; do
  ours "$d" && [ -x "$d/bh-guard-$name" ] && exec "$d/bh-guard-$name" ` + FarFlag + ` "$@"
done
say want "$(uname -s)" "$(uname -m)"
read -r order size || exit 1
if [ "$order" = own ]; then
  ours "$home" && [ -x "$home/bh-guard" ] && exec "$home/bh-guard" ` + FarFlag + ` "$@"
  own=$(command -v bh-guard) && exec "$own" ` + FarFlag + ` "$@"
  say none; exit 1
fi
umask 077
for d in "$home" "$temp"; do
  mkdir -p "$d" 2>/dev/null; ours "$d" || continue
  new=$d/.new.$$
  { printf '#!/bin/sh\n' >"$new" && chmod 700 "$new" && "$new"; } 2>/dev/null || { rm -f "$new"; continue; }
  say send
  head -c "$size" >"$new" || { rm -f "$new"; say full "$d"; exit 1; }
  [ "$(wc -c <"$new")" -eq "$size" ] || { rm -f "$new"; say full "$d"; exit 1; }
  find "$d" -name 'bh-guard-*' -mtime +30 -exec rm -f {} + 2>/dev/null
  mv -f "$new" "$d/bh-guard-$name" && exec "$d/bh-guard-$name" ` + FarFlag + ` "$@"
  exit 1
done
say nowhere "$home" "$temp"`

// greet waits for the far guard, and sends the program that it is started from
// if that is asked for. It returns why there is none.
func (n *near) greet() (why string) {
	for said := 0; said < 256<<10; {
		line, err := readLine(n.out)
		if err != nil {
			return "the way to the host ended before a guard greeted there"
		}
		said += len(line) + 1
		if len(line) < len(greeting) || line[:len(greeting)] != greeting {
			continue // what login scripts say
		}
		words := split(line[len(greeting):])
		switch word := words[0]; {
		case word == "guard":
			return ""
		case word == "want" && len(words) == 3:
			if why := n.offer(words[1], words[2]); why != "" {
				return why
			}
		case word == "none":
			return "no_guard: the host is another kind of machine than this one, and has no guard: copy a bellhop built for it there as ~/.cache/bellhop/bh-guard, or as bh-guard on its PATH (chmod +x); without one, what runs there could outlive the line, so nothing is started"
		case word == "full":
			return "no_guard: the disk is full under " + words[len(words)-1] + " on the host"
		case word == "nowhere":
			return "no_guard: no folder on the host where a program can be put and run; tried" + line[len(greeting)+len(word):]
		}
	}
	return "the host says a lot, but no guard greets"
}

// offer sends this very program when the host can run it; whether it is sent
// is for the host to say.
func (n *near) offer(system, machineThere string) (why string) {
	if system != "Linux" && system != "Darwin" {
		return "no_guard: the host runs " + system + ", and guards run on Linux and macOS only"
	}
	if system != systemName || machineThere != machine() {
		_ = writeFull(n.in, []byte("own 0\n"))
		return ""
	}
	fd, err := syscall.Open(OwnProgram(), syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return "no_guard: this program cannot be read, to send it to the host"
	}
	defer syscall.Close(fd)
	var st syscall.Stat_t
	if syscall.Fstat(fd, &st) != nil {
		return "no_guard: this program cannot be read, to send it to the host"
	}
	_ = writeFull(n.in, []byte("put "+decimal(int(st.Size))+"\n"))
	for { // until it is clear where it will lie
		line, err := readLine(n.out)
		if err != nil {
			return "the line to the host ended before its guard was sent"
		}
		if line == greeting+"send" {
			break
		}
		if words := split(line); len(line) > len(greeting) && line[:len(greeting)] == greeting {
			return "no_guard: no folder on the host where a program can be put and run: " + words[len(words)-1]
		}
	}
	n.events <- farEvent{kind: eventSending}
	buf := make([]byte, 64<<10)
	for {
		got, err := syscall.Read(fd, buf)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return "no_guard: this program cannot be read, to send it to the host"
		case got == 0:
			return ""
		case writeFull(n.in, buf[:got]) != nil:
			return "the line to the host ended while its guard was sent"
		}
	}
}

// readLine reads a line a byte at a time, so that nothing that follows it is taken.
func readLine(fd int) (string, error) {
	var b [1]byte
	var line []byte
	for len(line) < 4096 {
		if err := readFull(fd, b[:]); err != nil {
			return "", err
		}
		if b[0] == '\n' {
			break
		}
		line = append(line, b[0])
	}
	return string(line), nil
}

// split cuts a line at its blanks. There is at least one word.
func split(line string) []string {
	var words []string
	from := 0
	for i := 0; i <= len(line); i++ {
		if i == len(line) || line[i] == ' ' {
			if i > from || i == len(line) && len(words) == 0 {
				words = append(words, line[from:i])
			}
			from = i + 1
		}
	}
	return words
}

// machine is this program's, as uname says it.
func machine() string {
	switch runtime.GOARCH {
	case "amd64":
		return "x86_64"
	case "arm64":
		if systemName == "Darwin" {
			return "arm64"
		}
		return "aarch64"
	case "386":
		return "i686"
	}
	return runtime.GOARCH // riscv64, ppc64le, s390x, …
}
