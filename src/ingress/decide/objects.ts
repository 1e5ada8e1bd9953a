// The input of the decision: the cluster's current objects, and the facts about this proxy.

import type { Namespace, Secret, Service } from '#api/groups/core/v1/index.ts';
import type { EndpointSlice } from '#api/groups/discovery/v1/index.ts';
import type { Ingress, IngressClass } from '#api/groups/networking/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type {
  Gateway,
  GatewayClass,
  GrpcRoute,
  HttpRoute,
  ReferenceGrant,
} from '../gateway-api/types.ts';

/** Reads the cluster's objects. Lists are unordered. */
export interface IngressObjects {
  ingresses(): readonly Immutable<Ingress>[];
  ingressClasses(): readonly Immutable<IngressClass>[];
  service(namespace: string, name: string): Immutable<Service> | undefined;
  endpointSlices(namespace: string, service: string): readonly Immutable<EndpointSlice>[];
  namespace(name: string): Immutable<Namespace> | undefined;
  /** Returns a Secret, and watches it from then on. 'pending': it has not been read yet. */
  secret(namespace: string, name: string): Immutable<Secret> | 'pending' | undefined;
  /** undefined: the Gateway API is not installed. */
  readonly gatewayApi: GatewayObjects | undefined;
}

export interface GatewayObjects {
  gatewayClasses(): readonly GatewayClass[];
  gateways(): readonly Gateway[];
  httpRoutes(): readonly HttpRoute[];
  grpcRoutes(): readonly GrpcRoute[];
  referenceGrants(): readonly ReferenceGrant[];
}

export interface Facts {
  /**
   * The addresses of this machine that serve Ingresses, and Gateways without an address of their
   * own.
   */
  readonly addresses: readonly string[];
  /** The addresses for statuses, by which clients reach `addresses`. */
  readonly published: readonly string[];
  readonly httpPort: number;
  readonly httpsPort: number;
  /** A pool of addresses: each Gateway gets one. Empty: Gateways share `addresses`. */
  readonly gatewayAddresses: readonly string[];
  /** The reasons why the proxy cannot listen, by serverKey. */
  readonly unavailable: ReadonlyMap<string, string>;
}

/** The name of this controller in IngressClasses and GatewayClasses. */
export const INGRESS_CONTROLLER = 'coxswain.io/ingress-controller';
export const GATEWAY_CONTROLLER = 'coxswain.io/gateway-controller';

/** Orders objects by age, then by name. Of two conflicting objects, the first one wins. */
export function compareAge(a: AgedObject, b: AgedObject): number {
  return (
    compareText(a.metadata.creationTimestamp ?? '', b.metadata.creationTimestamp ?? '') ||
    compareText(a.metadata.namespace ?? '', b.metadata.namespace ?? '') ||
    compareText(a.metadata.name ?? '', b.metadata.name ?? '')
  );
}

interface AgedObject {
  readonly metadata: {
    readonly creationTimestamp?: string | null;
    readonly namespace?: string;
    readonly name?: string;
  };
}

export const compareText = (a: string, b: string): number => (a < b ? -1 : Number(a > b));
