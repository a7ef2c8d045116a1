package sql

// OrNull is an argument that is NULL where v is its type's zero value.
func OrNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// ListOrNull is a list that is NULL where it is empty.
func ListOrNull[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return list
}

// ListOrEmpty is a list that is not NULL where it is nil.
func ListOrEmpty[T any](list []T) []T { return append([]T{}, list...) }
