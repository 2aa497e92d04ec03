# The server and its databases in one container: docker build -t howdah . && docker run --rm -it --network host -v howdah:/var/lib/howdah howdah
FROM debian:13-slim
RUN apt-get update \
  && apt-get install -y --no-install-recommends haproxy iproute2 nodejs npm pgbouncer postgresql-client restic tini \
  && rm -rf /var/lib/apt/lists/*
COPY . /opt/howdah
# What is needed at run time, and the console; the server then starts without npm's registry.
RUN "$(node /opt/howdah/bin/set-up.mjs)" /opt/howdah/console/build.ts
ENV PATH=/opt/howdah/bin:$PATH
VOLUME /var/lib/howdah
EXPOSE 8080
# Databases are daemons, so their parent becomes process 1: tini collects those that end.
ENTRYPOINT ["tini", "--"]
# They would be killed with the container: when it is stopped, they are stopped first.
CMD ["sh", "-c", "trap 'howdah stop --all; exit $?' TERM INT; howdah start & wait $!"]
