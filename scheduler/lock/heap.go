package lock

// heap keeps the least of its elements first.
type heap[T any] struct {
	less func(a, b T) bool
	list []T
}

func (h *heap[T]) push(x T) {
	h.list = append(h.list, x)
	for i := len(h.list) - 1; i > 0; {
		parent := (i - 1) / 2
		if !h.less(h.list[i], h.list[parent]) {
			return
		}
		h.list[i], h.list[parent] = h.list[parent], h.list[i]
		i = parent
	}
}

func (h *heap[T]) pop() T {
	first, last := h.list[0], len(h.list)-1
	h.list[0] = h.list[last]
	var none T
	h.list[last] = none
	h.list = h.list[:last]
	for i := 0; ; {
		least := i
		for _, child := range [2]int{2*i + 1, 2*i + 2} {
			if child < last && h.less(h.list[child], h.list[least]) {
				least = child
			}
		}
		if least == i {
			return first
		}
		h.list[i], h.list[least] = h.list[least], h.list[i]
		i = least
	}
}
