# The command line and the studio in a container.
#   docker build -t veilspan .
#   docker run --rm -v "$PWD:/work" veilspan fit pca table.csv --out release
# Mount folders, never single files: the log beside a ledger would stay behind.
FROM python:3.13-slim AS build
COPY . /src
RUN pip wheel --no-cache-dir --wheel-dir /wheels "/src[all]"

FROM python:3.13-slim
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir --no-index --find-links /wheels "veilspan[all]" \
    && rm -rf /wheels \
    && useradd --create-home --uid 1000 steward
USER steward
WORKDIR /work
ENTRYPOINT ["veilspan"]
CMD ["--help"]
