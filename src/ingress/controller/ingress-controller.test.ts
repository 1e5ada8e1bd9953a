// The controller with a real API server. It authenticates as its own user, so a missing permission
// fails a test.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { customResourceDefinitions } from '#api/groups/apiextensions/v1/index.ts';
import { events, secrets, services } from '#api/groups/core/v1/index.ts';
import { endpointSlices } from '#api/groups/discovery/v1/index.ts';
import { ingressClasses, ingresses } from '#api/groups/networking/v1/index.ts';
import type { ResourceType } from '#api/machinery/descriptor.ts';
import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { define, definitionOf, definitionVersion } from '#apiserver/testing/custom-resources.ts';
import { createClient } from '#client/create-client.ts';
import { createInProcessTransport } from '#client/in-process.ts';
import type { Transport } from '#client/transport.ts';
import { startTestCluster, type TestCluster } from '#controllers/testing/test-cluster.ts';
import { SeededRandom } from '#machinery/random.ts';
import {
  type Gateway,
  GATEWAY_GROUP,
  gatewayClasses,
  gateways,
  httpRoutes,
} from '../gateway-api/types.ts';
import { INGRESS_USER } from '../publish/objects.ts';
import { grantIngressPermissions } from '../publish/publish.ts';
import type { Configuration } from '../model.ts';
import { certificate } from '../testing/configurations.ts';
import { FACTS } from '../testing/world.ts';
import { IngressController } from './ingress-controller.ts';

let cluster: TestCluster;
let stop: (() => Promise<void>) | undefined;
let configuration: Configuration;
/** Every configuration that the proxy was given. */
const applied: Configuration[] = [];
/** By address and port: the reason why the fake proxy cannot listen. */
const unavailable = new Map<string, string>();
/** Requests of the controller for Secrets. */
let secretRequests: string[];

beforeEach(async () => {
  cluster = await startTestCluster();
  secretRequests = [];
  unavailable.clear();
  await grantIngressPermissions(cluster.client);
});
afterEach(async () => {
  await stop?.();
  stop = undefined;
  await cluster.stop();
});

async function start(writesStatuses = true): Promise<IngressController> {
  const handler = cluster.server.inProcess({
    name: INGRESS_USER,
    groups: ['system:authenticated'],
  });
  const { clock, logger } = cluster;
  const inner = createInProcessTransport({ handler, userAgent: 'ingress' });
  const record = <R extends { readonly path: string; readonly query?: unknown }>(request: R): R => {
    if (request.path.includes('/secrets'))
      secretRequests.push(`${request.path} ${JSON.stringify(request.query)}`);
    return request;
  };
  const transport: Transport = {
    ...inner,
    request: (request) => inner.request(record(request)),
    watch: (request) => inner.watch(record(request)),
  };
  const controller = new IngressController({
    client: createClient(transport),
    proxy: {
      apply: (next) => {
        configuration = next;
        applied.push(next);
        return Promise.resolve(new Map(unavailable));
      },
      stop: () => Promise.resolve(),
    },
    clock,
    random: new SeededRandom('ingress'),
    logger,
    facts: FACTS,
    writesStatuses,
  });
  const abort = new AbortController();
  let ready!: () => void;
  const whenReady = new Promise<void>((resolve) => (ready = resolve));
  const running = controller.run(abort.signal, ready);
  await Promise.race([whenReady, running]);
  stop = async () => {
    abort.abort(new Error('the test ends'));
    await running;
  };
  await cluster.clock.advance('1s');
  return controller;
}

const inDefault = <T extends KubeObject>(type: ResourceType<T>) =>
  cluster.client.resource(type).namespace('default');

async function createService(): Promise<void> {
  await inDefault(services).create({
    metadata: { name: 'web' },
    spec: { ports: [{ name: 'http', port: 80 }] },
  });
  await inDefault(endpointSlices).create({
    metadata: { name: 'web-1', labels: { 'kubernetes.io/service-name': 'web' } },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 8080 }],
    endpoints: [{ addresses: ['10.1.0.1'], conditions: { ready: true } }],
  });
}

const rules = [
  {
    host: 'a.example',
    http: {
      paths: [
        {
          path: '/',
          pathType: 'Prefix' as const,
          backend: { service: { name: 'web', port: { number: 80 } } },
        },
      ],
    },
  },
];
const createIngress = (more: object = {}) =>
  inDefault(ingresses).create({ metadata: { name: 'web' }, spec: { rules, ...more } });

const endpoints = (): string[] =>
  configuration.servers.flatMap(({ port, listeners }) =>
    listeners.flatMap(({ hostname, hosts }) =>
      hosts.flatMap((host) =>
        host.rules.flatMap(({ action }) =>
          action.backends.flatMap(({ target }) =>
            typeof target === 'number'
              ? []
              : target.endpoints.map(({ ip }) => `${port} ${hostname} ${ip}`),
          ),
        ),
      ),
    ),
  );

describe('Ingress', () => {
  test('the class is the default, an Ingress is served, and changed endpoints take effect at once', async () => {
    await start();
    const created = await cluster.client.resource(ingressClasses).get('coxswain');
    expect(created.metadata.annotations).toEqual({
      'ingressclass.kubernetes.io/is-default-class': 'true',
    });
    await createService();
    await createIngress();
    await cluster.clock.advance('1s');
    expect(endpoints()).toContain('80 a.example 10.1.0.1');
    const served = await inDefault(ingresses).get('web');
    expect(served).toMatchObject({
      spec: { ingressClassName: 'coxswain' },
      status: { loadBalancer: { ingress: [{ ip: '10.0.0.1' }] } },
    });
    const slice = await inDefault(endpointSlices).get('web-1');
    await inDefault(endpointSlices).update({
      ...slice,
      endpoints: [{ addresses: ['10.1.0.2'], conditions: {} }],
    });
    await cluster.clock.advance('20ms');
    expect(endpoints()).toContain('80 a.example 10.1.0.2');
  });

  test('another default class stays the only one', async () => {
    await cluster.client.resource(ingressClasses).create({
      metadata: {
        name: 'other',
        annotations: { 'ingressclass.kubernetes.io/is-default-class': 'true' },
      },
      spec: { controller: 'example.com/other' },
    });
    await start();
    expect(
      (await cluster.client.resource(ingressClasses).get('coxswain')).metadata.annotations,
    ).toBeUndefined();
  });

  test('only referenced Secrets are read, and only as long as they are referenced', async () => {
    const { cert, key } = await certificate('a.example');
    const data = {
      'tls.crt': Buffer.from(cert).toString('base64'),
      'tls.key': Buffer.from(key).toString('base64'),
    };
    for (const name of ['used', 'unused']) {
      await inDefault(secrets).create({ metadata: { name }, type: 'kubernetes.io/tls', data });
    }
    await start();
    expect(secretRequests).toEqual([]);
    await createService();
    await createIngress({ tls: [{ hosts: ['a.example'], secretName: 'used' }] });
    await cluster.clock.advance('1s');
    expect(endpoints()).toContain('443 a.example 10.1.0.1');
    expect(secretRequests.length).toBeGreaterThan(0);
    for (const request of secretRequests)
      expect(request).toMatch(/^\/api\/v1\/namespaces\/default\/secrets .*"metadata.name=used"/);
    await inDefault(secrets).delete('used');
    await cluster.clock.advance('1s');
    expect(endpoints()).not.toContain('443 a.example 10.1.0.1');
    await inDefault(ingresses).delete('web');
    await cluster.clock.advance('1s');
    const count = secretRequests.length;
    await cluster.clock.advance('1h');
    expect(secretRequests.length).toBe(count);
  });

  test('after a restart the first configuration has its certificates already', async () => {
    const { cert, key } = await certificate('a.example');
    const data = {
      'tls.crt': Buffer.from(cert).toString('base64'),
      'tls.key': Buffer.from(key).toString('base64'),
    };
    await inDefault(secrets).create({ metadata: { name: 'tls' }, type: 'kubernetes.io/tls', data });
    await start();
    await createService();
    await createIngress({ tls: [{ hosts: ['a.example'], secretName: 'tls' }] });
    await stop?.();
    applied.length = 0;
    await start();
    expect(
      applied[0]?.servers
        .find(({ tls }) => tls)
        ?.listeners.at(-1)
        ?.certificates[0]?.matches('a.example'),
    ).toBe(true);
  });

  test('an unsupported Ingress is reported in an event, once', async () => {
    await start();
    await createIngress();
    await cluster.clock.advance('1m');
    await createService();
    await cluster.clock.advance('1m');
    const { items } = await inDefault(events).list();
    expect(
      items.map(({ involvedObject, type, reason, message, count }) => [
        involvedObject.kind,
        type,
        reason,
        message,
        count,
      ]),
    ).toEqual([['Ingress', 'Warning', 'IngressNotServed', 'Service default/web not found', 1]]);
  });

  test('without statuses nothing is written', async () => {
    await start(false);
    await createService();
    await createIngress();
    await cluster.clock.advance('1s');
    expect(endpoints()).toContain('80 a.example 10.1.0.1');
    expect((await inDefault(ingresses).get('web')).status).toEqual({ loadBalancer: {} });
  });
});

describe('Gateway API', () => {
  const kinds = [
    { plural: 'gatewayclasses', kind: 'GatewayClass', scope: 'Cluster' as const },
    { plural: 'gateways', kind: 'Gateway' },
    { plural: 'httproutes', kind: 'HTTPRoute' },
  ];
  const install = async (): Promise<void> => {
    const schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
    const version = definitionVersion('v1', {
      subresources: { status: {} },
      schema: { openAPIV3Schema: schema },
    });
    const protectedGroup = { 'api-approved.kubernetes.io': 'unapproved, for a test' };
    for (const each of kinds) {
      const definition = definitionOf([version], { ...each, group: GATEWAY_GROUP });
      await define(cluster.client, {
        ...definition,
        metadata: { ...definition.metadata, annotations: protectedGroup },
      });
    }
  };
  const gateway = {
    metadata: { name: 'gw' },
    spec: {
      gatewayClassName: 'coxswain',
      listeners: [{ name: 'http', port: 8080, protocol: 'HTTP' }],
    },
  };
  const route = {
    metadata: { name: 'r' },
    spec: { parentRefs: [{ name: 'gw' }], rules: [{ backendRefs: [{ name: 'web', port: 80 }] }] },
  };
  const conditionsOf = ({ status }: Gateway): string =>
    (status?.conditions ?? [])
      .map(({ type, status: value, reason }) => `${type}=${value} ${reason}`)
      .join(', ');

  test('kinds that are installed later are served, until they are removed', async () => {
    await start();
    await createService();
    expect(configuration.servers.map(({ port }) => port)).toEqual([80, 443]);
    await install();
    await cluster.clock.advance('10s');
    const accepted = await cluster.client.resource(gatewayClasses).get('coxswain');
    expect(accepted.status?.conditions).toMatchObject([{ type: 'Accepted', status: 'True' }]);
    expect(accepted.status?.supportedFeatures).toContainEqual({ name: 'HTTPRoute' });
    await inDefault(gateways).create(gateway);
    await inDefault(httpRoutes).create(route);
    await cluster.clock.advance('1s');
    expect(endpoints()).toEqual(['8080  10.1.0.1']);
    expect(conditionsOf(await inDefault(gateways).get('gw'))).toBe(
      'Accepted=True Accepted, Programmed=True Programmed',
    );
    const attached = await inDefault(httpRoutes).get('r');
    expect(attached.status?.parents).toMatchObject([
      { controllerName: 'coxswain.io/gateway-controller' },
    ]);
    for (const { plural } of kinds)
      await cluster.client.resource(customResourceDefinitions).delete(`${plural}.${GATEWAY_GROUP}`);
    await cluster.clock.advance('1m');
    expect(configuration.servers.map(({ port }) => port)).toEqual([80, 443]);
  });

  test('a busy port is retried', async () => {
    await install();
    await start();
    await cluster.clock.advance('10s');
    unavailable.set('10.0.0.1:8080', 'port 8080 is in use');
    await inDefault(gateways).create(gateway);
    await cluster.clock.advance('1s');
    expect(conditionsOf(await inDefault(gateways).get('gw'))).toBe(
      'Accepted=False ListenersNotValid, Programmed=False Invalid',
    );
    unavailable.clear();
    await cluster.clock.advance('10s');
    expect(conditionsOf(await inDefault(gateways).get('gw'))).toBe(
      'Accepted=True Accepted, Programmed=True Programmed',
    );
  });

  test('statuses are written once per change', async () => {
    await install();
    await start();
    await inDefault(gateways).create(gateway);
    await cluster.clock.advance('10s');
    const before = (await inDefault(gateways).get('gw')).metadata.resourceVersion;
    await createService();
    await cluster.clock.advance('1h');
    expect((await inDefault(gateways).get('gw')).metadata.resourceVersion).toBe(before);
  });
});
