package words

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

var (
	errBadAge    = errors.New("want a time span such as 3d, 36h or 0s")
	errBadMoment = errors.New("is neither a time nor so long ago")
)

// ParseAge reads a time span, also in days.
func ParseAge(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	}
	age, err := time.ParseDuration(text)
	if err != nil || age < 0 {
		return 0, errBadAge
	}
	return age, nil
}

// ParseMoment reads a time, in UTC and as Stamp writes it, or how long ago it was, also in days.
func ParseMoment(text string) (time.Time, error) {
	if ago, err := ParseAge(text); err == nil {
		return time.Now().Add(-ago), nil
	}
	text = strings.TrimSuffix(text, " UTC")
	for _, form := range []string{time.RFC3339, "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02"} {
		if at, err := time.Parse(form, text); err == nil {
			return at, nil
		}
	}
	return time.Time{}, errBadMoment
}
