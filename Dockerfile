# A cluster with simulated nodes, without root: docker build -t coxswain . && docker run -p 6443:6443 -v coxswain:/data coxswain
# The kubeconfig is /data/kubeconfig. Its server is the container's address: replace it with https://127.0.0.1:6443 outside.
# For tests (Testcontainers and the like): the container is healthy when the cluster is ready; docs/testing.md has an example.

FROM node:24-slim AS build
WORKDIR /src
COPY . .
RUN npm install --no-audit --no-fund && npm run build && npm pack --ignore-scripts --pack-destination /

FROM node:24-slim
# The service proxy makes its rules with nft.
RUN apt-get update && apt-get install -y --no-install-recommends nftables && rm -rf /var/lib/apt/lists/*
COPY --from=build /coxswain-*.tgz /tmp/
RUN npm install --global --no-audit --no-fund /tmp/coxswain-*.tgz && rm /tmp/coxswain-*.tgz && mkdir /data && chown node:node /data
USER node
VOLUME /data
EXPOSE 6443
HEALTHCHECK --interval=1s --timeout=5s --start-period=60s CMD ["node", "--no-warnings", "-e", "process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'; fetch('https://127.0.0.1:6443/readyz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["cox"]
CMD ["up", "--data-dir", "/data", "--runtime", "simulated", "--no-install", "--bind", "0.0.0.0"]
