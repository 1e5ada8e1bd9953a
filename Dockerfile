# A cluster with simulated nodes, without root: docker build -t coxswain . && docker run -p 6443:6443 -v coxswain:/data coxswain
# The kubeconfig is /data/kubeconfig. Its server is the container's address: replace it with https://127.0.0.1:6443 outside.

FROM node:22-slim AS build
WORKDIR /src
COPY . .
RUN npm install --no-audit --no-fund && npm run build && npm pack --ignore-scripts --pack-destination /

FROM node:22-slim
COPY --from=build /coxswain-*.tgz /tmp/
RUN npm install --global --no-audit --no-fund /tmp/coxswain-*.tgz && rm /tmp/coxswain-*.tgz && mkdir /data && chown node:node /data
USER node
VOLUME /data
EXPOSE 6443
ENTRYPOINT ["cox"]
CMD ["up", "--data-dir", "/data", "--runtime", "simulated", "--no-install", "--bind", "0.0.0.0"]
