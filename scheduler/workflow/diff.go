package workflow

// mostCells bounds the table that Diff fills in; texts that differ in more are
// shown one after the other.
const mostCells = 4_000_000

// Diff is what has to be done to the lines of one text to get another: each line
// with "-", "+" or " " before it, and of what is the same only the three next ones.
func Diff(from, to []string) []string {
	head := 0
	for head < len(from) && head < len(to) && from[head] == to[head] {
		head++
	}
	tail := 0
	for tail < len(from)-head && tail < len(to)-head && from[len(from)-1-tail] == to[len(to)-1-tail] {
		tail++
	}
	a, b := from[head:len(from)-tail], to[head:len(to)-tail]
	if len(a) == 0 && len(b) == 0 {
		return nil
	}
	var lines []string
	for _, l := range from[:head] {
		lines = append(lines, " "+l)
	}
	lines = append(lines, middle(a, b)...)
	for _, l := range from[len(from)-tail:] {
		lines = append(lines, " "+l)
	}
	return around(lines)
}

// middle is the difference by the longest common subsequence.
func middle(a, b []string) (lines []string) {
	if len(a)*len(b) > mostCells {
		for _, l := range a {
			lines = append(lines, "-"+l)
		}
		for _, l := range b {
			lines = append(lines, "+"+l)
		}
		return lines
	}
	common := make([][]int, len(a)+1) // of what is left from there on
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			lines = append(lines, " "+a[i])
			i, j = i+1, j+1
		case i < len(a) && (j == len(b) || common[i+1][j] >= common[i][j+1]):
			lines = append(lines, "-"+a[i])
			i++
		default:
			lines = append(lines, "+"+b[j])
			j++
		}
	}
	return lines
}

// around leaves out what is further than three lines from any change.
func around(lines []string) (kept []string) {
	const context = 3
	near := make([]bool, len(lines))
	for i, l := range lines {
		if l[0] != ' ' {
			for k := max(0, i-context); k < min(len(lines), i+context+1); k++ {
				near[k] = true
			}
		}
	}
	for i, l := range lines {
		switch {
		case near[i]:
			kept = append(kept, l)
		case i == 0 || near[i-1]:
			kept = append(kept, " …")
		}
	}
	return kept
}
