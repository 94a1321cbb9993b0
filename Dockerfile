# A small image with mcptest: docker build -t mcptest . && docker run --rm -v "$PWD:/work" mcptest run
FROM python:3.13-slim AS build
WORKDIR /source
COPY pyproject.toml setup.py README.md LICENSE ./
COPY src src
RUN python -m venv /opt/mcptest \
    && /opt/mcptest/bin/pip install --no-cache-dir --disable-pip-version-check . \
    && /opt/mcptest/bin/pip uninstall --yes --disable-pip-version-check pip

FROM python:3.13-slim
COPY --from=build /opt/mcptest /opt/mcptest
# Only the two commands are on the path: the Python of the image is that of the servers.
RUN ln -s /opt/mcptest/bin/mcptest /opt/mcptest/bin/conductor /usr/local/bin/ \
    && useradd --create-home --uid 1000 mcptest
USER 1000
WORKDIR /work
ENTRYPOINT ["mcptest"]
