//go:build !unix

package look

import "os"

// notifyResize: no signal tells of it here; the size is looked at with each picture.
func notifyResize(chan<- os.Signal) {}
