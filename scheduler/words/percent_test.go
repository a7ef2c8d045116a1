package words

import "testing"

func TestPercent(t *testing.T) {
	t.Parallel()
	for part, want := range map[float64]string{
		0: "0.0 %", 0.0004: "0.0 %", 0.012: "1.2 %", 0.0994: "9.9 %", 0.0996: "10 %", 0.5: "50 %", 1: "100 %",
	} {
		if got := Percent(part); got != want {
			t.Errorf("Percent(%g) is %q, want %q", part, got, want)
		}
	}
}
