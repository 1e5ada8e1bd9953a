// The input of the decision: the cluster's objects as of now, and the facts of this proxy.

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

/** Reads the cluster's objects. Lists are in no particular order. */
export interface IngressObjects {
  ingresses(): readonly Immutable<Ingress>[];
  ingressClasses(): readonly Immutable<IngressClass>[];
  service(namespace: string, name: string): Immutable<Service> | undefined;
  endpointSlices(namespace: string, service: string): readonly Immutable<EndpointSlice>[];
  namespace(name: string): Immutable<Namespace> | undefined;
  /** Every Secret that is asked for is followed from then on. 'pending': it is not known yet. */
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
   * Addresses of this machine at which Ingresses are served, and Gateways without an address of
   * their own.
   */
  readonly addresses: readonly string[];
  /** Addresses in statuses: those by which clients reach `addresses`. */
  readonly published: readonly string[];
  readonly httpPort: number;
  readonly httpsPort: number;
  /** Addresses for Gateways, each gets one. Empty: Gateways share `addresses`. */
  readonly gatewayAddresses: readonly string[];
  /** Why the proxy cannot listen, by serverKey. */
  readonly unavailable: ReadonlyMap<string, string>;
}

/** The name of this controller in IngressClasses and GatewayClasses. */
export const INGRESS_CONTROLLER = 'coxswain.io/ingress-controller';
export const GATEWAY_CONTROLLER = 'coxswain.io/gateway-controller';

/** Orders objects by age, then by name: of two that want the same, the first one gets it. */
export function compareAge(a: AgedObject, b: AgedObject): number {
  return (
    compareText(a.metadata.creationTimestamp ?? '', b.metadata.creationTimestamp ?? '') ||
    compareText(a.metadata.namespace ?? '', b.metadata.namespace ?? '') ||
    compareText(a.metadata.name ?? '', b.metadata.name ?? '')
  );
}

interface AgedObject {
  readonly metadata: {
    readonly creationTimestamp?: string | null | undefined;
    readonly namespace?: string | undefined;
    readonly name?: string | undefined;
  };
}

export const compareText = (a: string, b: string): number => (a < b ? -1 : Number(a > b));
