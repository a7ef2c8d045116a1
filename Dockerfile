# The images of bellhop. `docker build .` makes the scheduler's; --target names another.
#
#   bellhop   the scheduler: `docker run -e DATABASE_URL=… IMAGE` serves
#   host      a host for it to reach by ssh, with the example's agent on it
#   shop      the example app, which submits jobs
#
# Where these base images cannot be had, others of Debian's kind do:
#   docker build --build-arg BASE=… --build-arg GO_BASE=… .
ARG GO_BASE=golang:1.26.5-bookworm
ARG BASE=debian:12.12-slim

FROM ${GO_BASE} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 GOBIN=/out go install -trimpath -buildvcs=false -ldflags="-s -w" ./cmd/bellhop ./compose/shop

# Agents run as this user, too: in a container of its own nobody else is there.
FROM ${BASE} AS host
RUN apt-get update \
 && apt-get install -qy --no-install-recommends openssh-server \
 && rm -rf /var/lib/apt/lists/* /etc/ssh/ssh_host_* \
 && useradd --uid 10001 --create-home --shell /bin/sh bellhop
COPY compose/sshd_config /etc/ssh/bellhop_sshd_config
COPY --from=build /out/shop /usr/local/bin/
USER 10001:10001
EXPOSE 2222
# The key of the host, and whom it lets in, come from a volume: none is in the image.
CMD ["/usr/sbin/sshd", "-D", "-e", "-f", "/etc/ssh/bellhop_sshd_config"]

FROM scratch AS shop
COPY --from=build /out/shop /
USER 10001:10001
ENTRYPOINT ["/shop"]
CMD ["sell"]

FROM ${BASE} AS bellhop
RUN apt-get update \
 && apt-get install -qy --no-install-recommends ca-certificates openssh-client \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 10001 --create-home --shell /bin/sh bellhop
COPY --from=build /out/bellhop /usr/local/bin/
USER 10001:10001
WORKDIR /home/bellhop
EXPOSE 8470
HEALTHCHECK --interval=5s --timeout=6s --start-period=30s --retries=3 CMD ["bellhop", "ready"]
ENTRYPOINT ["bellhop"]
CMD ["serve"]
