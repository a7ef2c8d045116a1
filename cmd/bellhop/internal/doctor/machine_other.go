//go:build !unix

package doctor

import (
	"context"
	"errors"
	"fmt"
)

// No instance serves on this system, so nothing of the machine is looked at.

func (d *doctor) checkFiles() {}

func (d *doctor) checkLeftovers() {}

func (d *doctor) checkCgroups() {}
func (d *doctor) checkLimits()  {}

func (d *doctor) checkHosts(context.Context) {}

func diskFree(dir string) (int64, error) {
	return 0, fmt.Errorf("look at the disk of %s: %w", dir, errors.ErrUnsupported)
}
