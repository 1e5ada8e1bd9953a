// The role `cox ingress`: Ingresses and Gateways, apart from everything else. Several may run; one of them writes
// statuses.

import {
  INGRESS_PERMISSIONS,
  IngressController,
  IngressMetrics,
  NodeProxy,
} from '#ingress/index.ts';
import { formatYamlLazily } from '#api/machinery/codec/format-yaml-lazily.ts';
import { createServer } from 'node:http';
import {
  type IngressRequest,
  parseTrustedProxies,
  prepareIngress,
} from '../addons/prepare-ingress.ts';
import { UserError } from '../user-error.ts';
import { clientFor, type RoleConfig, type RunningRole, supervised } from './role.ts';
import { readKubeconfig } from '../flags/flag-files.ts';

export interface IngressRoleConfig extends RoleConfig, IngressRequest {
  /** The identity of the controller, and the address of the API server. */
  readonly kubeconfig: string;
  /** Addresses for statuses. Default: those of `addresses` that other machines can reach. */
  readonly publishAddresses?: readonly string[];
  /** Bytes of a request's body. Default: no limit. */
  readonly maxRequestBody?: number;
  readonly updateStatus: boolean;
  /** The port of metrics over HTTP, on 127.0.0.1. Absent: metrics are not served. */
  readonly metricsPort?: number;
}

const COMPONENT = 'coxswain-ingress';

/** Starts the ingress proxy. Rejects with UserError for a problem that the user can solve. */
export async function startIngressRole(config: IngressRoleConfig): Promise<RunningRole> {
  const {
    clock,
    random,
    maxRequestBody,
    accessLog = false,
    updateStatus,
    publishAddresses,
    metricsPort,
  } = config;
  const logger = config.logger.with({ component: 'ingress' });
  const access = await readKubeconfig('--kubeconfig', config.kubeconfig);
  const facts = await prepareIngress(config, {
    addresses: '--bind-address',
    httpPort: '--http-port',
    httpsPort: '--https-port',
    gatewayAddresses: '--gateway-addresses',
    trustedProxies: '--trusted-proxies',
  });
  const metrics = new IngressMetrics();
  const controller = new IngressController({
    client: clientFor(access, COMPONENT, config),
    proxy: new NodeProxy({
      clock,
      random,
      logger,
      metrics,
      accessLog,
      trustedProxies: parseTrustedProxies('--trusted-proxies', config.trustedProxies),
      ...(maxRequestBody !== undefined && { maxRequestBody }),
    }),
    clock,
    random,
    logger,
    facts: { ...facts, ...(publishAddresses !== undefined && { published: publishAddresses }) },
    writesStatuses: updateStatus,
  });
  const server = metricsPort === undefined ? undefined : await serveMetrics(metricsPort, metrics);
  const running = supervised('ingress', (signal) =>
    controller.run(signal, () => logger.info('ingress is ready')),
  );
  const at = facts.addresses.join(', ');
  return {
    failed: running.failed,
    description: `ingress of ${access.server} at ${at}, ports ${facts.httpPort} and ${facts.httpsPort}`,
    async stop() {
      await running.stop();
      server?.close();
    },
  };
}

function serveMetrics(port: number, metrics: IngressMetrics): Promise<{ close(): void }> {
  return new Promise((resolve, reject) => {
    const server = createServer((request, response) => {
      if (request.method !== 'GET' || request.url !== '/metrics') {
        response.writeHead(404).end();
        return;
      }
      response
        .writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' })
        .end(metrics.text());
    });
    server.once('error', (err) =>
      reject(new UserError(`--metrics-port: ${err.message}`, { cause: err })),
    );
    server.listen({ host: '127.0.0.1', port }, () => resolve(server));
  });
}

/** Returns the objects that allow the user of this role to do what it does, as YAML for an administrator to apply. */
export async function ingressPermissionsYaml(): Promise<string> {
  const { clusterRole, clusterRoleBinding } = INGRESS_PERMISSIONS;
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  const objects = [
    { apiVersion, kind: 'ClusterRole', ...clusterRole },
    { apiVersion, kind: 'ClusterRoleBinding', ...clusterRoleBinding },
  ];
  return (await Promise.all(objects.map((object) => formatYamlLazily(object)))).join('---\n');
}
