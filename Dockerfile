# docker build --tag castlist .
# docker run --rm --volume "$PWD:/videos" --user "$(id -u):$(id -g)" castlist scan episode.mp4

FROM python:3.13-slim-bookworm AS build
WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src src
# The build backend is of the pinned version, too.
ENV PIP_CONSTRAINT=/src/constraints.txt
RUN python -m venv /opt/castlist \
    && /opt/castlist/bin/python -m pip install --no-cache-dir --disable-pip-version-check . \
    && /opt/castlist/bin/castlist doctor --no-speed

FROM python:3.13-slim-bookworm
COPY --from=build /opt/castlist /opt/castlist
# Any user can run it: nothing is written but to /videos and /tmp.
ENV PATH=/opt/castlist/bin:$PATH \
    HOME=/tmp \
    CASTLIST_CACHE=/tmp/castlist \
    PYTHONDONTWRITEBYTECODE=1
USER 65534:65534
WORKDIR /videos
ENTRYPOINT ["castlist"]
CMD ["--help"]
