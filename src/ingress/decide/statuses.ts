// Computes the statuses. Only the parts of this controller are changed: parents with its name,
// conditions of its types.

import { type Ingress, ingresses } from '#api/groups/networking/v1/index.ts';
import type { ResourceType } from '#api/machinery/descriptor.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import {
  GATEWAY_GROUP,
  type GatewayStatus,
  gatewayClasses,
  gateways,
  grpcRoutes,
  httpRoutes,
  type ParentReference,
  type RouteParentStatus,
  type RouteStatus,
} from '../gateway-api/types.ts';
import { mergeConditions } from './conditions.ts';
import type { DecidedGateway, DecidedGateways, DecidedRoute } from './gateways.ts';
import { GATEWAY_CONTROLLER } from './objects.ts';

export interface DecidedStatus {
  readonly type: ResourceType<KubeObject>;
  readonly object: KubeObject;
  /** Returns the status. `now`: the time of changed conditions, in the format of the API. */
  statusAt(now: string): unknown;
}

/**
 * The Gateway API's names of supported features beyond the core, for
 * GatewayClass.status.supportedFeatures.
 */
const SUPPORTED_FEATURES = [
  'GRPCRoute',
  'Gateway',
  'GatewayAddressEmpty',
  'GatewayHTTPListenerIsolation',
  'GatewayHTTPSListenerDetectMisdirectedRequests',
  'GatewayPort8080',
  'GatewayStaticAddresses',
  'HTTPRoute',
  'HTTPRoute303RedirectStatusCode',
  'HTTPRoute307RedirectStatusCode',
  'HTTPRoute308RedirectStatusCode',
  'HTTPRouteBackendProtocolH2C',
  'HTTPRouteBackendProtocolWebSocket',
  'HTTPRouteBackendRequestHeaderModification',
  'HTTPRouteBackendTimeout',
  'HTTPRouteDestinationPortMatching',
  'HTTPRouteHostRewrite',
  'HTTPRouteMethodMatching',
  'HTTPRouteNamedRouteRule',
  'HTTPRouteParentRefPort',
  'HTTPRoutePathRedirect',
  'HTTPRoutePathRewrite',
  'HTTPRoutePortRedirect',
  'HTTPRouteQueryParamMatching',
  'HTTPRouteRequestMirror',
  'HTTPRouteRequestMultipleMirrors',
  'HTTPRouteRequestPercentageMirror',
  'HTTPRouteRequestTimeout',
  'HTTPRouteResponseHeaderModification',
  'HTTPRouteSchemeRedirect',
  'ReferenceGrant',
].map((name) => ({ name }));

export function ingressStatuses(
  own: readonly Immutable<Ingress>[],
  published: readonly string[],
): DecidedStatus[] {
  const status = { loadBalancer: { ingress: published.map((ip) => ({ ip })) } };
  return own.map((object) => ({
    type: ingresses as ResourceType<KubeObject>,
    object,
    statusAt: () => status,
  }));
}

export function gatewayStatuses({
  classes,
  gateways: decided,
  routes,
}: DecidedGateways): DecidedStatus[] {
  return [
    ...classes.map(({ gatewayClass, conditions }): DecidedStatus => ({
      type: gatewayClasses,
      object: gatewayClass,
      statusAt: (now) => ({
        conditions: mergeConditions(
          gatewayClass.status?.conditions ?? [],
          conditions,
          generationOf(gatewayClass),
          now,
        ),
        supportedFeatures: SUPPORTED_FEATURES,
      }),
    })),
    ...decided.map((gateway): DecidedStatus => ({
      type: gateways,
      object: gateway.gateway,
      statusAt: (now) => gatewayStatus(gateway, now),
    })),
    ...routes.flatMap((route) => routeStatus(route)),
  ];
}

const generationOf = ({ metadata }: KubeObject): number => metadata.generation ?? 0;

function gatewayStatus(
  { gateway, conditions, addresses, listeners }: DecidedGateway,
  now: string,
): GatewayStatus {
  const present = gateway.status ?? {};
  const generation = generationOf(gateway);
  return {
    ...present,
    addresses: addresses.map((value) => ({ type: 'IPAddress', value })),
    conditions: mergeConditions(present.conditions ?? [], conditions, generation, now),
    listeners: listeners.map(({ name, kinds, attachedRoutes, conditions: own }) => ({
      name,
      supportedKinds: kinds.map((kind) => ({ group: GATEWAY_GROUP, kind })),
      attachedRoutes,
      conditions: mergeConditions(
        present.listeners?.find((each) => each.name === name)?.conditions ?? [],
        own,
        generation,
        now,
      ),
    })),
  };
}

/** Returns nothing for a route without a present or former parent of this controller. */
function routeStatus({ kind, route, parents }: DecidedRoute): DecidedStatus[] {
  const present = route.status?.parents ?? [];
  const own = present.filter(({ controllerName }) => controllerName === GATEWAY_CONTROLLER);
  if (parents.length === 0 && own.length === 0) return [];
  const statusAt = (now: string): RouteStatus => ({
    parents: [
      ...present.filter(({ controllerName }) => controllerName !== GATEWAY_CONTROLLER),
      ...parents.map(({ parentRef, conditions }): RouteParentStatus => {
        const before =
          own.find((each) => sameReference(each.parentRef, parentRef))?.conditions ?? [];
        return {
          parentRef,
          controllerName: GATEWAY_CONTROLLER,
          conditions: mergeConditions(before, conditions, generationOf(route), now),
        };
      }),
    ],
  });
  return [{ type: kind === 'HTTPRoute' ? httpRoutes : grpcRoutes, object: route, statusAt }];
}

const sameReference = (a: ParentReference, b: ParentReference): boolean =>
  a.name === b.name &&
  a.namespace === b.namespace &&
  a.sectionName === b.sectionName &&
  a.port === b.port;
