package agents

import "bytes"

const (
	maxLine  = 1 << 20  // bytes of a line that are kept; the rest is read and dropped
	keepLine = 32 << 10 // a longer line's buffer is given back
)

// cutter cuts a stream into lines. It holds no more than maxLine bytes,
// however long a line gets.
type cutter struct {
	part    []byte // of a line whose end has not come
	dropped bool   // some of it was dropped
}

// feed calls line for every line that chunk completes, without its end. The
// slice is the callee's only during the call.
func (c *cutter) feed(chunk []byte, line func(text []byte, truncated bool)) {
	for {
		end := bytes.IndexByte(chunk, '\n')
		if end < 0 {
			c.keep(chunk)
			return
		}
		if len(c.part) == 0 && !c.dropped && end <= maxLine {
			line(chunk[:end], false)
		} else {
			c.keep(chunk[:end])
			c.flush(line)
		}
		chunk = chunk[end+1:]
	}
}

func (c *cutter) keep(b []byte) {
	if room := maxLine - len(c.part); len(b) > room {
		b, c.dropped = b[:room], true
	}
	c.part = append(c.part, b...)
}

// flush calls line for what is left without an end.
func (c *cutter) flush(line func(text []byte, truncated bool)) {
	if len(c.part) == 0 && !c.dropped {
		return
	}
	line(c.part, c.dropped)
	c.dropped = false
	if c.part = c.part[:0]; cap(c.part) > keepLine {
		c.part = nil
	}
}
