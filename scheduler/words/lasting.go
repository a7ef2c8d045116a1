package words

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// The pages write times in one form: a number, a blank and a unit ("4 s", "12 min", "2 h 05 min", "3 d 4 h").

// Lasting is a time span in seconds, in whole seconds and with its two biggest units at most. What is negative is 0 s.
func Lasting(seconds float64) string {
	s := int64(math.Max(0, math.Min(seconds, 1e10)))
	switch {
	case s < 60:
		return fmt.Sprintf("%d s", s)
	case s < 3600:
		return fmt.Sprintf("%d min %02d s", s/60, s%60)
	case s < 86400:
		return fmt.Sprintf("%d h %02d min", s/3600, s/60%60)
	}
	return fmt.Sprintf("%d d %d h", s/86400, s/3600%24)
}

// Took is a measured time span in seconds: below a minute three digits, and above as Lasting.
func Took(seconds float64) string {
	switch digits := func(v float64) string {
		unit := math.Pow(10, math.Floor(math.Log10(v))-2)
		return strconv.FormatFloat(math.Round(v/unit)*unit, 'f', max(0, 2-int(math.Floor(math.Log10(v)))), 64)
	}; {
	case seconds <= 0:
		return "0 s"
	case seconds < 0.001:
		return "<1 ms"
	case seconds < 0.9995:
		return trimmed(digits(seconds*1000)) + " ms"
	case seconds < 59.95:
		return trimmed(digits(seconds)) + " s"
	}
	return Lasting(seconds + 0.5)
}

// trimmed is a number without the zeros at the end of its fraction.
func trimmed(number string) string {
	end := len(number)
	for i := range number {
		if number[i] != '.' {
			continue
		}
		for ; end > i+1 && number[end-1] == '0'; end-- {
		}
		if end == i+1 {
			end = i
		}
		break
	}
	return number[:end]
}

// Ago is how long before now a time was, or how long after it will be, in its biggest unit: "4 s ago", "in 12 min".
func Ago(t, now time.Time) string {
	d := now.Sub(t)
	if d < 0 {
		return "in " + biggest(-d)
	}
	if d < time.Second {
		return "now"
	}
	return biggest(d) + " ago"
}

func biggest(d time.Duration) string {
	for _, u := range []struct {
		of   time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "min"}} {
		if d >= u.of {
			return fmt.Sprintf("%d %s", d/u.of, u.name)
		}
	}
	return fmt.Sprintf("%d s", d/time.Second)
}
