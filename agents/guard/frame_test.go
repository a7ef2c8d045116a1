package guard

import (
	"bytes"
	"os"
	"syscall"
	"testing"

	"pgregory.net/rapid"
)

// Both ends of a line whose every write and read may be of any size.
func TestFrames_StreamsComeWholeThroughAnyPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.SliceOfN(rapid.Byte(), 0, 300_000).Draw(t, "data")
		most := rapid.IntRange(1, 5000).Draw(t, "most")
		source, line, back, sink := pipe(t), pipe(t), pipe(t), pipe(t)
		near, far := &sender{fd: line[1]}, &sender{fd: back[1]}
		in := newIntake(source[0], frameStdin, frameNoMore, near)
		out := newOutlet(sink[1], frameStdin, far, func(fd int) { _ = syscall.Close(fd) })
		go in.run()
		go out.run()
		go func() { // credit on its way back
			for {
				kind, body, err := readFrame(back[0], nil)
				if err != nil {
					return
				}
				if kind == frameCredit {
					in.grant(le32(body[4:]))
				}
			}
		}()
		ok := make(chan bool, 1)
		go func() { // the far side's reader
			for {
				kind, body, err := readFrame(line[0], make([]byte, framePiece))
				switch {
				case err != nil || kind == frameStdin && !out.put(body):
					ok <- false
					return
				case kind == frameNoMore:
					out.end()
					ok <- true
					return
				}
			}
		}()
		go func() {
			for rest := data; len(rest) > 0; {
				n, err := syscall.Write(source[1], rest[:min(most, len(rest))])
				if err != nil {
					break
				}
				rest = rest[n:]
			}
			_ = syscall.Close(source[1])
		}()
		got, err := readToEnd(sink[0])
		if err != nil || !<-ok || !bytes.Equal(got, data) {
			t.Fatalf("%d bytes came of %d, %v", len(got), len(data), err)
		}
		for _, fd := range []int{source[0], line[0], line[1], back[0], back[1], sink[0]} {
			_ = syscall.Close(fd)
		}
	})
}

// The length of a frame comes from another host: no room is made for one that is longer than any that is sent.
func TestFrames_LongerOnesThanAreSentAreRefused(t *testing.T) {
	t.Parallel()
	for kind, longest := range map[byte]uint32{frameStdout: framePiece, frameTick: framePiece, frameRequest: MaxRequest} {
		var p [2]int
		if err := syscall.Pipe(p[:]); err != nil {
			t.Fatal(err)
		}
		if err := writeFull(p[1], put32([]byte{kind}, longest+1)); err != nil {
			t.Fatal(err)
		}
		_ = syscall.Close(p[1])
		if _, body, err := readFrame(p[0], nil); err != syscall.EPROTO || body != nil {
			t.Errorf("%c of %d bytes: %v", kind, longest+1, err)
		}
		_ = syscall.Close(p[0])
	}
}

func pipe(t *rapid.T) (p [2]int) {
	if err := syscall.Pipe(p[:]); err != nil {
		t.Fatal(err)
	}
	return p
}

func readToEnd(fd int) (all []byte, err error) {
	buf := make([]byte, 4096)
	for {
		n, err := syscall.Read(fd, buf)
		if n <= 0 {
			return all, err
		}
		all = append(all, buf[:n]...)
	}
}

func TestRequest_RoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOf(rapid.String())
		r := Request{
			Path:      rapid.String().Draw(t, "path"),
			Argv:      text.Draw(t, "argv"),
			Env:       text.Draw(t, "env"),
			Way:       text.Draw(t, "way"),
			WayEnv:    text.Draw(t, "wayenv"),
			Lease:     rapid.Uint32().Draw(t, "lease"),
			Check:     rapid.Bool().Draw(t, "check"),
			Whole:     rapid.Bool().Draw(t, "whole"),
			OneStream: rapid.Bool().Draw(t, "onestream"),
			CalledAs:  rapid.String().Draw(t, "calledas"),
		}
		body := r.Encode()[4:]
		got, err := decodeRequest(body)
		if err != nil || !bytes.Equal(got.Encode()[4:], body) || got.Whole != r.Whole || got.Check != r.Check ||
			got.OneStream != r.OneStream ||
			got.CalledAs != r.CalledAs ||
			len(got.Way) != len(r.Way) {
			t.Fatalf("%+v, %v", got, err)
		}
		if len(body) > 0 {
			if _, err := decodeRequest(body[:len(body)-1]); err == nil {
				t.Fatal("a request that is cut short was taken")
			}
		}
	})
}

func TestLookPath(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/tool", nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/data", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	env := []string{"PATH=relative:/nowhere::" + dir}
	for name, want := range map[string]string{"tool": dir + "/tool", "data": "", "none": "", "/x/y": "/x/y", "./y": "/home/./y"} {
		if got := lookPathFrom("/home", name, env); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
