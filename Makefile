# What people type. `make` alone lists it.
.DEFAULT_GOAL := help
GO ?= go
TEST_FLAGS ?=

.PHONY: help
help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: bin/bellhop ## watch real work go through: licences of the Go module cache
	@scripts/need-postgres
	@bin/bellhop demo $(DIR)

.PHONY: test
test: ## all tests, on real processes and a real PostgreSQL
	@scripts/need-postgres
	@scripts/test $(TEST_FLAGS)

.PHONY: race
race: ## the same with the race detector
	@scripts/need-postgres
	@scripts/test -race $(TEST_FLAGS)

.PHONY: build
build: bin/bellhop ## build bin/bellhop

.PHONY: bin/bellhop
bin/bellhop:
	@$(GO) build -o bin/bellhop ./cmd/bellhop

.PHONY: fmt
fmt: ## format the code
	@gofmt -w $$(git ls-files '*.go')

.PHONY: lint
lint: ## format, vet, staticcheck
	@bad=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$bad" ] || { echo "not formatted (make fmt): $$bad"; exit 1; }
	@$(GO) vet ./...
	@cd bench && $(GO) vet ./...
	@$(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...

.PHONY: vuln
vuln: ## known vulnerabilities of what is used
	@scripts/vuln

.PHONY: generate
generate: ## write the generated files again (docs/state_machines.md, sql/schema.golden.sql)
	@$(GO) test ./scheduler ./sql/migrate -update

.PHONY: bench
bench: bin/bellhop ## measure speed and memory beside yardsticks of the same run (FULL=1: the long form)
	@scripts/need-postgres
	@cd bench && $(GO) run . -bellhop ../bin/bellhop $(if $(FULL),-full) -json ../bin/bench.json

.PHONY: check
check: ## exactly what CI runs
	@.ci/run

.PHONY: install
install: bin/bellhop ## install to PREFIX (default /usr/local)
	@install -d $(DESTDIR)$(or $(PREFIX),/usr/local)/bin
	@install bin/bellhop $(DESTDIR)$(or $(PREFIX),/usr/local)/bin/bellhop
