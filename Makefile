# What people type. `make` alone lists it.
.DEFAULT_GOAL := help
GO ?= go
TEST_FLAGS ?=

.PHONY: help
help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Whatever needs a PostgreSQL looks for one before anything is built; where it had to be downloaded, that is where it is.
WITH_POSTGRES = bin=$$(scripts/need-postgres) || exit 1; export BELLHOP_PG_BIN="$${bin:-$$BELLHOP_PG_BIN}";

.PHONY: demo
demo: ## watch real work go through: licences of the Go module cache
	@$(WITH_POSTGRES) $(MAKE) --no-print-directory bin/bellhop && bin/bellhop demo $(DIR)

.PHONY: test
test: ## all tests, on real processes and a real PostgreSQL
	@$(WITH_POSTGRES) scripts/test $(TEST_FLAGS)

# Packages whose tests need no process tree, and PostgreSQL little or not at all.
QUICK = . ./actors/memory ./agents/guard ./cmd/bellhop/internal/... ./config ./fossology ./observability/... \
	./scheduler/... ./scripts/mutate ./triggers ./web
.PHONY: quick
quick: ## what tests tell in seconds, while you write: no process trees, hardly a database
	@$(GO) test $(QUICK)

.PHONY: jaeger
jaeger: ## build the Jaeger that one test reads traces back from (once; kept in your cache)
	@scripts/jaeger

.PHONY: race
race: ## the same with the race detector
	@$(WITH_POSTGRES) scripts/test -race $(TEST_FLAGS)

.PHONY: containers
containers: ## tests across containers, and of docker-compose.yml (needs docker, docker-compose, mmdebstrap)
	@scripts/containers $(TEST_FLAGS)

.PHONY: versions
versions: ## what touches the database on PostgreSQL 15, 17 and 18 (PG=18: on one; needs mmdebstrap)
	@scripts/versions $(PG)

.PHONY: mutations
mutations: ## take each named guard out of a copy: a test must notice (an hour; ONLY=name: some; writes docs/reliability.md)
	@$(WITH_POSTGRES) $(GO) run ./scripts/mutate -write $(if $(ONLY),-only "$(ONLY)")

.PHONY: images
images: ## what stands in for docker-compose.yml's images where none can be pulled
	@cd e2e/containers && $(GO) run ./images

.PHONY: build
build: bin/bellhop ## build bin/bellhop

.PHONY: bin/bellhop
bin/bellhop:
	@[ -e $@ ] || echo "building $@: the first time takes a minute or two" >&2
	@$(GO) build -o bin/bellhop ./cmd/bellhop

.PHONY: fmt
fmt: ## format the code
	@gofmt -w $$(git ls-files '*.go')

.PHONY: lint
lint: ## format, vet, staticcheck, and no line of Go over 120 characters
	@bad=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$bad" ] || { echo "not formatted (make fmt): $$bad"; exit 1; }
	@$(GO) test -run 'TestWidth' .
	@$(GO) vet ./...
	@cd bench && $(GO) vet ./...
	@cd e2e/containers && $(GO) vet ./...
	@cd e2e/oidc && $(GO) vet ./...
	@cd deploy && $(GO) vet ./...
	@cd deploy/dist && $(GO) vet ./...
	@$(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...

.PHONY: vuln
vuln: ## known vulnerabilities of what is used
	@scripts/vuln

.PHONY: generate
generate: ## write the generated files again (docs/reference.md, state_machines.md, explain.md, commands.md, skill.md; triggers/refuse.sql and sql/; web/api/openapi.*)
	@$(GO) test ./scheduler/grammar -run TestMade -update
	@$(GO) test ./scheduler ./sql/migrate ./web/api -run 'StatesDoc_Is|Schema_IsTheGolden|Causes_TheDocs|OpenAPI_(IsOn|OnlyGrows)' -update
	@$(GO) test ./cmd/bellhop -run 'TestSkill_Is|TestCommandsDoc' -update

.PHONY: bench
bench: ## measure speed and memory beside yardsticks of the same run (FULL=1: the long form; ONLY=drain,idle)
	@$(WITH_POSTGRES) $(MAKE) --no-print-directory bin/bellhop && cd bench && $(GO) run . -bellhop ../bin/bellhop $(if $(FULL),-full) $(if $(ONLY),-only $(ONLY)) -json ../bin/bench.json

.PHONY: torture
torture: ## every kind of harm, on servers of its own, held against every promise (MINUTES=5)
	@$(WITH_POSTGRES) $(MAKE) --no-print-directory bin/bellhop && bin/bellhop torture --minutes $(or $(MINUTES),5)

.PHONY: replay
replay: ## the same, and what was seen of each job is held against the models (MINUTES=5)
	@rm -rf bin/torture; $(WITH_POSTGRES) $(MAKE) --no-print-directory bin/bellhop && \
		bin/bellhop torture --minutes $(or $(MINUTES),5) --record --keep bin/torture && \
		$(GO) test -v -count=1 -run TestRecordings ./scheduler/model -args -recordings $(CURDIR)/bin/torture

.PHONY: ledger
ledger: ## a ledger in four languages under kill -9 of all that fills it, with instances and without (KILLS=2000, of each)
	@$(WITH_POSTGRES) BELLHOP_LEDGER_KILLS=$(or $(KILLS),2000) $(GO) test -v -count=1 -timeout 24h -run TestLedger_ ./e2e

.PHONY: limits
limits: ## limits of memory and processors, in an emulated machine (half a minute)
	@GO=$(GO) scripts/limits

.PHONY: older
older: ## binaries of earlier commits beside the present one, and back (minutes of building)
	@$(WITH_POSTGRES) BELLHOP_OLDER=1 $(GO) test -v -count=1 -timeout 60m -run TestOlder ./e2e/failover

.PHONY: soak
soak: ## a steady rate beside a held snapshot (MINUTES=10, RATE=20 jobs a second); prints what each tenth of the time showed
	@$(WITH_POSTGRES) BELLHOP_SOAK_MINUTES=$(or $(MINUTES),10) BELLHOP_SOAK_RATE=$(or $(RATE),20) \
		$(GO) test -v -count=1 -timeout 24h -run TestSoak ./e2e/failover

.PHONY: stalls
stalls: ## instances that stall again and again, and none is taken for dead too early (MINUTES=60)
	@$(WITH_POSTGRES) BELLHOP_STALLS_MINUTES=$(or $(MINUTES),60) $(GO) test -v -count=1 -timeout 24h -run TestStalls ./e2e/failover

# What each system can run; the whole program is compiled for unixes, and what Windows has for it. Vet is for what
# differs between systems, and what apps link.
CROSS_VET = ./agents/guard ./machine ./client ./client/agent ./client/worker ./observability/crash
.PHONY: cross
cross: ## build and vet for the other systems: macOS, Linux on arm64, Windows (docs/platforms.md)
	@set -e; for on in $(or $(ON),darwin/arm64 darwin/amd64 linux/arm64 windows/amd64); do \
	  os=$${on%/*}; export GOOS=$$os GOARCH=$${on#*/} CGO_ENABLED=0; echo "$$on"; \
	  $(GO) build -o /dev/null ./cmd/bellhop; \
	  if [ $$os = windows ]; then $(GO) build ./machine ./client/...; else $(GO) vet $(CROSS_VET); fi; \
	done

.PHONY: dist
dist: ## what a release is made of, to dist/ (ONLY=linux/amd64: for one platform; KEY=FILE signs it): docs/install.md
	@cd deploy/dist && $(GO) run . -root ../.. -to ../../dist $(if $(ONLY),-only $(ONLY)) $(if $(KEY),-key $(KEY))

.PHONY: dist-test
dist-test: ## make releases, and install, upgrade and remove them from their files (minutes; needs root, mmdebstrap, docker)
	@$(WITH_POSTGRES) cd deploy/dist && $(GO) test -count=1 -timeout 40m -json . | (cd ../.. && $(GO) run ./scripts/tally)

.PHONY: changelog
changelog: ## print what has changed since the last release (VERSION=0.2.0: move it into CHANGELOG.md)
	@scripts/changelog $(VERSION)

.PHONY: rename
rename: ## give the module another path, everywhere: MODULE=github.com/you/bellhop
	@scripts/rename "$(MODULE)"

.PHONY: check
check: ## exactly what CI runs
	@.ci/run

# In one step: an instance that runs goes on with the new program when it is whole.
INTO = $(DESTDIR)$(or $(PREFIX),/usr/local)/bin
RJM = rjmsetup rjmgo rjmls rjmexit rjmout rjmproc rjmd rjmflush
.PHONY: install
install: bin/bellhop ## install to PREFIX (default /usr/local), with RJM's names
	@install -d $(INTO)
	@install bin/bellhop $(INTO)/.bellhop.new && mv $(INTO)/.bellhop.new $(INTO)/bellhop
	@for name in $(RJM); do ln -sfn bellhop $(INTO)/$$name; done

.PHONY: install-completion
install-completion: bin/bellhop ## words for TAB, to PREFIX (default /usr/local), for bash, zsh and fish
	@set -e; share=$(DESTDIR)$(or $(PREFIX),/usr/local)/share; \
	install -d $$share/bash-completion/completions $$share/zsh/site-functions $$share/fish/vendor_completions.d; \
	bin/bellhop completion bash > $$share/bash-completion/completions/bellhop; \
	bin/bellhop completion zsh > $$share/zsh/site-functions/_bellhop; \
	bin/bellhop completion fish > $$share/fish/vendor_completions.d/bellhop.fish
