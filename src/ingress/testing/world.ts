// Objects of a cluster for tests of decisions, written as YAML.

import { parseYamlDocuments } from '#api/machinery/codec/index.ts';
import type { Namespace, Secret, Service } from '#api/groups/core/v1/index.ts';
import type { EndpointSlice } from '#api/groups/discovery/v1/index.ts';
import type { Ingress, IngressClass } from '#api/groups/networking/v1/index.ts';
import type { Condition, KubeObject } from '#api/machinery/meta/v1/index.ts';
import { decide, type Decision } from '../decide/decide.ts';
import type { Facts, IngressObjects } from '../decide/objects.ts';
import type {
  Gateway,
  GatewayClass,
  GrpcRoute,
  HttpRoute,
  ReferenceGrant,
  RouteStatus,
} from '../gateway-api/types.ts';
import { Router } from '../routing/router.ts';

export const FACTS: Facts = {
  addresses: ['10.0.0.1'],
  published: ['10.0.0.1'],
  httpPort: 80,
  httpsPort: 443,
  gatewayAddresses: [],
  unavailable: new Map(),
};

/**
 * The classes of this controller, the namespaces `default` and `other`, and a Service `web` with an
 * endpoint in each.
 */
const BASE = `
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: { name: coxswain }
spec: { controller: coxswain.io/ingress-controller }
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: { name: coxswain }
spec: { controllerName: coxswain.io/gateway-controller }
---
kind: Namespace
metadata: { name: default, labels: { team: a } }
---
kind: Namespace
metadata: { name: other, labels: { team: b } }
${['default', 'other']
  .map(
    (namespace, index) => `---
kind: Service
metadata: { name: web, namespace: ${namespace} }
spec:
  ports:
    - { name: http, port: 80 }
    - { name: grpc, port: 81, appProtocol: kubernetes.io/h2c }
    - { name: tls, port: 82, appProtocol: https }
status: {}
---
kind: EndpointSlice
metadata: { name: web-1, namespace: ${namespace}, labels: { kubernetes.io/service-name: web } }
addressType: IPv4
ports: [{ name: http, port: 8080 }, { name: grpc, port: 8081 }]
endpoints: [{ addresses: [10.1.0.${index + 1}], conditions: { ready: true } }]
`,
  )
  .join('')}`;

export class World implements IngressObjects {
  readonly #byKind = new Map<string, KubeObject[]>();
  readonly #byName = new Map<string, KubeObject>();
  readonly gatewayApi: IngressObjects['gatewayApi'];

  /** Parses the objects. `base`: adds the objects above. */
  constructor(yaml: string, base = true) {
    const objects = parseYamlDocuments(base ? `${BASE}---\n${yaml}` : yaml).filter(isObject);
    for (const object of objects.map((each, index) => withDefaults(each, index))) {
      const { kind = '', metadata } = object;
      const ofKind = this.#byKind.get(kind);
      if (ofKind === undefined) this.#byKind.set(kind, [object]);
      else ofKind.push(object);
      this.#byName.set(`${kind} ${metadata.namespace}/${metadata.name}`, object);
    }
    this.gatewayApi = {
      gatewayClasses: () => this.#all<GatewayClass>('GatewayClass'),
      gateways: () => this.#all<Gateway>('Gateway'),
      httpRoutes: () => this.#all<HttpRoute>('HTTPRoute'),
      grpcRoutes: () => this.#all<GrpcRoute>('GRPCRoute'),
      referenceGrants: () => this.#all<ReferenceGrant>('ReferenceGrant'),
    };
  }

  ingresses(): readonly Ingress[] {
    return this.#all<Ingress>('Ingress');
  }

  ingressClasses(): readonly IngressClass[] {
    return this.#all<IngressClass>('IngressClass');
  }

  service(namespace: string, name: string): Service | undefined {
    return this.#one<Service>('Service', namespace, name);
  }

  endpointSlices(namespace: string, service: string): readonly EndpointSlice[] {
    return this.#all<EndpointSlice>('EndpointSlice').filter(
      ({ metadata }) =>
        metadata.namespace === namespace &&
        metadata.labels?.['kubernetes.io/service-name'] === service,
    );
  }

  namespace(name: string): Namespace | undefined {
    return this.#all<Namespace>('Namespace').find(({ metadata }) => metadata.name === name);
  }

  secret(namespace: string, name: string): Secret | undefined {
    return this.#one<Secret>('Secret', namespace, name);
  }

  decide(facts: Partial<Facts> = {}): Decision {
    return decide(this, { ...FACTS, ...facts });
  }

  #all<T extends KubeObject>(kind: string): T[] {
    return (this.#byKind.get(kind) ?? []) as unknown as T[];
  }

  #one<T extends KubeObject>(kind: string, namespace: string, name: string): T | undefined {
    return this.#byName.get(`${kind} ${namespace}/${name}`) as T | undefined;
  }
}

const isObject = (value: unknown): value is KubeObject =>
  typeof value === 'object' && value !== null;

/** Adds defaults. The age of an object is its position in the text. */
function withDefaults(object: KubeObject, index: number): KubeObject {
  const defaults = { namespace: 'default', generation: 1, uid: `uid-${index}` };
  const creationTimestamp = `2026-01-01T00:${String(index).padStart(2, '0')}:00Z`;
  return { ...object, metadata: { ...defaults, ...object.metadata, creationTimestamp } };
}

const NOW = '2026-02-02T00:00:00Z';

const conditionText = (conditions: readonly Condition[] = []): string =>
  conditions.map(({ type, status, reason }) => `${type}=${status} ${reason}`).join(', ');

/** Returns a line for each object, listener and parent with its conditions. */
export function statusText({ statuses }: Decision): string {
  return statuses
    .flatMap(({ type, object, statusAt }) => {
      const name = `${type.kind} ${object.metadata.name}`;
      const status = statusAt(NOW) as Partial<NonNullable<Gateway['status']> & RouteStatus>;
      if (type.kind === 'Ingress' || type.kind === 'GatewayClass') return [];
      if (status.parents !== undefined) {
        return status.parents.map(
          ({ parentRef, conditions }) =>
            `${name} at ${parentRef.name}: ${conditionText(conditions)}`,
        );
      }
      const addresses = (status.addresses ?? []).map(({ value }) => value).join();
      const own = `${name} ${addresses}: ${conditionText(status.conditions)}`;
      const listeners = (status.listeners ?? []).map(
        ({ name: listener, attachedRoutes, supportedKinds, conditions }) => {
          const kinds = supportedKinds.map(({ kind }) => kind).join('+');
          return `  ${listener} routes=${attachedRoutes} kinds=${kinds}: ${conditionText(conditions)}`;
        },
      );
      return [own, ...listeners];
    })
    .join('\n');
}

export interface Probe {
  readonly at?: string;
  readonly host?: string;
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Returns the destination of a request: 'kind namespace/name → endpoint, …', or its response. `at`:
 * '10.0.0.1:80'.
 */
export function probe(
  { configuration }: Decision,
  { at = '10.0.0.1:80', host = '', path = '/', method = 'GET', headers = {} }: Probe,
): string {
  const server = configuration.servers.find(({ address, port }) => `${address}:${port}` === at);
  if (server === undefined) return 'no server';
  const [bare = '', query = ''] = path.split('?');
  const rule = new Router(server).route(
    { host, path: bare, query, method, header: (name) => headers[name] },
    undefined,
  );
  if (typeof rule !== 'object') return rule ?? 'no route';
  const { route, backends, redirect } = rule.action;
  if (redirect !== undefined) return `${route} → redirect`;
  const targets = backends.map(({ target, weight }) => {
    if (typeof target === 'number') return String(target);
    const endpoints = target.endpoints.map(({ ip, port }) => `${ip}:${port}`).join('+');
    return `${target.protocol}:${endpoints}${weight === 1 ? '' : `*${weight}`}`;
  });
  return `${route} → ${targets.join(', ')}`;
}
