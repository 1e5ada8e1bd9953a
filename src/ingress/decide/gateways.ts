// The Gateways of this controller: their listeners, attached routes, and statuses.

import { intersectHostnames } from '../hostnames.ts';
import {
  GATEWAY_GROUP,
  type Gateway,
  type GatewayClass,
  type GrpcRoute,
  type HttpRoute,
  type ParentReference,
} from '../gateway-api/types.ts';
import { type RouteRule, serverKey, type VirtualListener } from '../model.ts';
import { inPrecedence } from '../routing/precedence.ts';
import { assignAddresses, type GatewayAddresses } from './addresses.ts';
import { condition, type DecidedCondition } from './conditions.ts';
import { Grants } from './grants.ts';
import {
  allowsNamespace,
  listenerConditions,
  type ListenerState,
  readListener,
  type RouteKind,
  tlsOf,
} from './listeners.ts';
import {
  compareAge,
  type Facts,
  GATEWAY_CONTROLLER,
  type GatewayObjects,
  type IngressObjects,
} from './objects.ts';
import { RouteProblem } from './route-problem.ts';
import { convertGrpcRoute, convertHttpRoute, type ConvertedRoute } from './route-rules.ts';
import type { ServerPlan } from './servers.ts';

/** A listener to which routes are being attached. */
interface AttachingListener {
  readonly state: ListenerState;
  readonly conditions: readonly DecidedCondition[];
  readonly programmed: boolean;
  attachedRoutes: number;
  /** Rules by hostname. */
  readonly rules: Map<string, RouteRule[]>;
}

export interface DecidedGateway {
  readonly gateway: Gateway;
  readonly conditions: readonly DecidedCondition[];
  readonly addresses: readonly string[];
  readonly listeners: readonly {
    readonly name: string;
    readonly kinds: readonly RouteKind[];
    readonly attachedRoutes: number;
    readonly conditions: readonly DecidedCondition[];
  }[];
}

export interface DecidedParent {
  readonly parentRef: ParentReference;
  readonly conditions: readonly DecidedCondition[];
}

export interface DecidedRoute {
  readonly kind: RouteKind;
  readonly route: HttpRoute | GrpcRoute;
  /** The parent references to Gateways of this controller. */
  readonly parents: readonly DecidedParent[];
}

export interface DecidedGateways {
  readonly classes: readonly {
    readonly gatewayClass: GatewayClass;
    readonly conditions: readonly DecidedCondition[];
  }[];
  readonly gateways: readonly DecidedGateway[];
  readonly routes: readonly DecidedRoute[];
}

/** Adds the listeners of the Gateways to the servers. */
export function decideGateways(
  api: GatewayObjects,
  objects: IngressObjects,
  facts: Facts,
  servers: ServerPlan,
): DecidedGateways {
  const classes = api
    .gatewayClasses()
    .filter(({ spec }) => spec.controllerName === GATEWAY_CONTROLLER)
    .map((gatewayClass) => ({ gatewayClass, conditions: classConditions(gatewayClass) }));
  const accepted = new Set(
    classes
      .filter(({ conditions }) => conditions[0]?.status === 'True')
      .map(({ gatewayClass }) => gatewayClass.metadata.name),
  );
  const own = api
    .gateways()
    .filter(({ spec }) => accepted.has(spec.gatewayClassName))
    .sort(compareAge);
  const grants = new Grants(api.referenceGrants());
  const addresses = assignAddresses(own, facts);
  const attaching = new Map<
    string,
    { readonly gateway: Gateway; readonly listeners: readonly AttachingListener[] }
  >();
  for (const gateway of own) {
    const at = addresses.get(gateway)!;
    attaching.set(keyOf(gateway), {
      gateway,
      listeners: readListeners(gateway, at, objects, grants, facts, servers),
    });
  }
  const attach = (kind: RouteKind, routes: readonly (HttpRoute | GrpcRoute)[]): DecidedRoute[] =>
    [...routes]
      .sort(compareAge)
      .map((route) => attachRoute(kind, route, attaching, objects, grants));
  // GRPCRoutes and HTTPRoutes may share a hostname; the precedence of their matches decides.
  const routes = [
    ...attach('HTTPRoute', api.httpRoutes()),
    ...attach('GRPCRoute', api.grpcRoutes()),
  ];
  const gateways = [...attaching.values()].map(({ gateway, listeners }): DecidedGateway => {
    const at = addresses.get(gateway)!;
    serve(gateway, at, listeners, servers);
    return {
      gateway,
      conditions: gatewayConditions(gateway, at, listeners),
      addresses: at.published,
      listeners: listeners.map(({ state, attachedRoutes, conditions }) => ({
        name: state.listener.name,
        kinds: state.kinds,
        attachedRoutes,
        conditions,
      })),
    };
  });
  return { classes, gateways, routes };
}

const keyOf = ({ metadata }: Gateway): string => `${metadata.namespace}/${metadata.name}`;

function classConditions({ spec }: GatewayClass): DecidedCondition[] {
  if (spec.parametersRef === undefined) return [condition('Accepted', true, 'Accepted')];
  return [condition('Accepted', false, 'InvalidParameters', 'parametersRef is not supported')];
}

/** Returns the first unsupported field of a Gateway; listeners are not examined. */
function unsupportedField({ spec }: Gateway): string | undefined {
  if (spec.tls !== undefined) return 'spec.tls';
  if (spec.infrastructure?.parametersRef !== undefined) return 'spec.infrastructure.parametersRef';
  const from = spec.allowedListeners?.namespaces?.from;
  return from === undefined || from === 'None' ? undefined : 'spec.allowedListeners';
}

function readListeners(
  gateway: Gateway,
  { listen }: GatewayAddresses,
  objects: IngressObjects,
  grants: Grants,
  { unavailable }: Facts,
  servers: ServerPlan,
): AttachingListener[] {
  const unsupported = unsupportedField(gateway) !== undefined;
  const listeners = gateway.spec.listeners ?? [];
  return listeners.map((listener) => {
    let state = readListener(listener, gateway, objects, grants);
    const busy = listen
      .map((address) => unavailable.get(serverKey(address, listener.port)))
      .find((text) => text !== undefined);
    if (busy !== undefined && state.notAccepted === undefined) {
      state = { ...state, notAccepted: { reason: 'PortUnavailable', message: busy } };
    }
    const usable =
      state.notAccepted === undefined || state.notAccepted.reason === 'PortUnavailable';
    const conflict =
      usable && !unsupported ? servers.claim(gateway, listener, listeners, listen) : undefined;
    const conditions = listenerConditions(state, conflict);
    const programmed = conditions.some(
      ({ type, status }) => type === 'Programmed' && status === 'True',
    );
    // A busy port is retried, so its server stays in the configuration.
    const served =
      programmed || (conflict === undefined && state.notAccepted?.reason === 'PortUnavailable');
    return {
      state,
      conditions,
      programmed: served && !unsupported,
      attachedRoutes: 0,
      rules: new Map<string, RouteRule[]>(),
    };
  });
}

function attachRoute(
  kind: RouteKind,
  route: HttpRoute | GrpcRoute,
  attaching: ReadonlyMap<
    string,
    { readonly gateway: Gateway; readonly listeners: readonly AttachingListener[] }
  >,
  objects: IngressObjects,
  grants: Grants,
): DecidedRoute {
  const { namespace = '' } = route.metadata;
  let converted: ConvertedRoute | RouteProblem | undefined;
  const attachedTo = new Set<AttachingListener>();
  const parents: DecidedParent[] = [];
  for (const parentRef of route.spec.parentRefs ?? []) {
    const {
      group = GATEWAY_GROUP,
      kind: parentKind = 'Gateway',
      name,
      sectionName,
      port,
    } = parentRef;
    if (group !== GATEWAY_GROUP || parentKind !== 'Gateway') continue;
    const parent = attaching.get(`${parentRef.namespace ?? namespace}/${name}`);
    if (parent === undefined) continue;
    converted ??= convertRoute(kind, route, { objects, grants, kind, namespace });
    const unresolved = converted instanceof RouteProblem ? undefined : converted.unresolved;
    const resolvedRefs = condition(
      'ResolvedRefs',
      unresolved === undefined,
      unresolved?.reason ?? 'ResolvedRefs',
      unresolved?.message,
    );
    const named = parent.listeners.filter(
      ({ state: { listener } }) =>
        (sectionName === undefined || listener.name === sectionName) &&
        (port === undefined || listener.port === port),
    );
    const allowing = named.filter(
      ({ state }) =>
        state.kinds.includes(kind) &&
        allowsNamespace(
          state.listener,
          parent.gateway.metadata.namespace ?? '',
          namespace,
          (each) => objects.namespace(each),
        ),
    );
    const matching = allowing.flatMap((listener) => {
      const hostnames = hostnamesAt(
        listener.state.listener.hostname ?? '',
        route.spec.hostnames ?? [],
      );
      return hostnames.length === 0 ? [] : [{ listener, hostnames }];
    });
    const refuse = (reason: string, message: string): void =>
      void parents.push({
        parentRef,
        conditions: [condition('Accepted', false, reason, message), resolvedRefs],
      });
    if (named.length === 0) refuse('NoMatchingParent', 'the Gateway has no such listener');
    else if (allowing.length === 0)
      refuse('NotAllowedByListeners', 'no listener allows the route by its namespace and kind');
    else if (matching.length === 0)
      refuse('NoMatchingListenerHostname', 'no listener has one of the hostnames of the route');
    else if (converted instanceof RouteProblem) refuse(converted.reason, converted.message);
    else {
      parents.push({
        parentRef,
        conditions: [condition('Accepted', true, 'Accepted'), resolvedRefs],
      });
      for (const { listener, hostnames } of matching) {
        // Several references may lead to one listener.
        if (attachedTo.has(listener)) continue;
        attachedTo.add(listener);
        listener.attachedRoutes++;
        for (const hostname of hostnames) {
          const rules = listener.rules.get(hostname) ?? [];
          rules.push(...converted.rules);
          listener.rules.set(hostname, rules);
        }
      }
    }
  }
  return { kind, route, parents };
}

function convertRoute(
  kind: RouteKind,
  route: HttpRoute | GrpcRoute,
  context: Parameters<typeof convertHttpRoute>[1],
): ConvertedRoute | RouteProblem {
  try {
    return kind === 'HTTPRoute'
      ? convertHttpRoute(route as HttpRoute, context)
      : convertGrpcRoute(route as GrpcRoute, context);
  } catch (error) {
    if (error instanceof RouteProblem) return error;
    throw error;
  }
}

/** Returns the intersection of the hostnames of a listener and a route. */
function hostnamesAt(listener: string, route: readonly string[]): string[] {
  const hostnames = route.length === 0 ? [''] : route;
  const common = hostnames.map((hostname) =>
    intersectHostnames(listener.toLowerCase(), hostname.toLowerCase()),
  );
  return [...new Set(common.filter((hostname) => hostname !== undefined))];
}

function serve(
  gateway: Gateway,
  at: GatewayAddresses,
  listeners: readonly AttachingListener[],
  servers: ServerPlan,
): void {
  for (const { state, programmed, rules } of listeners) {
    if (!programmed) continue;
    const { listener, certificates } = state;
    const virtual: VirtualListener = {
      hostname: (listener.hostname ?? '').toLowerCase(),
      group: `${keyOf(gateway)}/${listener.name}`,
      certificates,
      hosts: Array.from(rules, ([hostname, list]) => ({
        hostname,
        oneLabel: false,
        rules: inPrecedence(list),
      })),
    };
    for (const address of at.listen) servers.add(address, listener.port, tlsOf(listener), virtual);
  }
}

function gatewayConditions(
  gateway: Gateway,
  { failure }: GatewayAddresses,
  listeners: readonly AttachingListener[],
): DecidedCondition[] {
  const is = (listener: AttachingListener, type: string): boolean =>
    listener.conditions.some((each) => each.type === type && each.status === 'True');
  const unsupported = unsupportedField(gateway);
  if (unsupported !== undefined) {
    const message = `${unsupported} is not supported`;
    return [
      condition('Accepted', false, 'InvalidParameters', message),
      condition('Programmed', false, 'Invalid', message),
    ];
  }
  if (failure?.condition === 'Accepted') {
    const { reason, message } = failure;
    return [
      condition('Accepted', false, reason, message),
      condition('Programmed', false, 'Invalid', message),
    ];
  }
  const count = listeners.filter((listener) => is(listener, 'Accepted')).length;
  const allValid = count === listeners.length;
  const message = allValid
    ? ''
    : `${listeners.length - count} of ${listeners.length} listeners cannot be served`;
  const accepted = condition(
    'Accepted',
    count > 0,
    allValid ? 'Accepted' : 'ListenersNotValid',
    message,
  );
  if (failure !== undefined)
    return [accepted, condition('Programmed', false, failure.reason, failure.message)];
  const programmed = listeners.some((listener) => is(listener, 'Programmed'));
  const pending = listeners.some(({ state }) => state.pending);
  return [
    accepted,
    condition(
      'Programmed',
      programmed,
      programmed ? 'Programmed' : pending ? 'Pending' : 'Invalid',
      programmed ? '' : message,
    ),
  ];
}
