package words

import "fmt"

// Percent is a part of 1 as people say it; of less than 10 %, a tenth counts.
func Percent(part float64) string {
	if part < 0.0995 {
		return fmt.Sprintf("%.1f %%", part*100)
	}
	return fmt.Sprintf("%.0f %%", part*100)
}
