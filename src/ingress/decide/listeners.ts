// One listener of a Gateway: whether it can be served, with which certificates, and which kinds of
// routes may attach.

import type { Namespace } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { labelSelectorAsSelector } from '#machinery/selectors/labels.ts';
import {
  GATEWAY_GROUP,
  type Gateway,
  type Listener,
  type ObjectReference,
  type RouteGroupKind,
} from '../gateway-api/types.ts';
import type { Certificate } from '../model.ts';
import { certificateOf } from './certificates.ts';
import { condition, type DecidedCondition } from './conditions.ts';
import type { Grants } from './grants.ts';
import type { IngressObjects } from './objects.ts';

const ROUTE_KINDS = ['HTTPRoute', 'GRPCRoute'] as const;
export type RouteKind = (typeof ROUTE_KINDS)[number];

interface Failure {
  readonly reason: string;
  readonly message: string;
}

/** The state of a listener before routes are attached. */
export interface ListenerState {
  readonly listener: Listener;
  readonly kinds: readonly RouteKind[];
  readonly certificates: readonly Certificate[];
  /** Why the listener is not accepted, except for conflicts. */
  readonly notAccepted: Failure | undefined;
  readonly unresolved: Failure | undefined;
  /** A Secret of the listener has not been read yet. */
  readonly pending: boolean;
}

export const tlsOf = ({ protocol }: Listener): boolean => protocol === 'HTTPS';

export function readListener(
  listener: Listener,
  gateway: Gateway,
  objects: Pick<IngressObjects, 'secret'>,
  grants: Grants,
): ListenerState {
  const { protocol, tls, allowedRoutes } = listener;
  const state = {
    listener,
    kinds: [] as RouteKind[],
    certificates: [] as Certificate[],
    unresolved: undefined,
    pending: false,
  };
  if (protocol !== 'HTTP' && protocol !== 'HTTPS') {
    const message = `the protocol ${JSON.stringify(protocol)} is not supported`;
    return { ...state, notAccepted: { reason: 'UnsupportedProtocol', message } };
  }
  const { kinds, unresolved: unresolvedKinds } = kindsOf(allowedRoutes?.kinds ?? []);
  if (protocol === 'HTTP')
    return { ...state, kinds, unresolved: unresolvedKinds, notAccepted: undefined };
  const unsupported =
    tls?.mode !== undefined && tls.mode !== 'Terminate'
      ? `tls.mode ${JSON.stringify(tls.mode)} is not supported`
      : Object.keys(tls?.options ?? {}).length > 0
        ? 'tls.options are not supported'
        : undefined;
  const { certificates, unresolved, pending } = certificatesOf(
    tls?.certificateRefs ?? [],
    gateway,
    objects,
    grants,
  );
  return {
    listener,
    kinds,
    certificates,
    pending,
    unresolved: unresolvedKinds ?? unresolved,
    notAccepted:
      unsupported === undefined ? undefined : { reason: 'UnsupportedValue', message: unsupported },
  };
}

function kindsOf(kinds: readonly RouteGroupKind[]): {
  readonly kinds: RouteKind[];
  readonly unresolved: Failure | undefined;
} {
  if (kinds.length === 0) return { kinds: [...ROUTE_KINDS], unresolved: undefined };
  const supported = ROUTE_KINDS.filter((kind) =>
    kinds.some((each) => each.kind === kind && (each.group ?? GATEWAY_GROUP) === GATEWAY_GROUP),
  );
  const other = kinds.find(
    ({ group = GATEWAY_GROUP, kind }) =>
      group !== GATEWAY_GROUP || !(ROUTE_KINDS as readonly string[]).includes(kind),
  );
  const message = `routes of the kind ${JSON.stringify(other?.kind)} are not supported`;
  return {
    kinds: supported,
    unresolved: other === undefined ? undefined : { reason: 'InvalidRouteKinds', message },
  };
}

interface ResolvedCertificates {
  readonly certificates: Certificate[];
  readonly unresolved: Failure | undefined;
  readonly pending: boolean;
}

function certificatesOf(
  refs: readonly ObjectReference[],
  gateway: Gateway,
  objects: Pick<IngressObjects, 'secret'>,
  grants: Grants,
): ResolvedCertificates {
  const { namespace = '' } = gateway.metadata;
  const certificates: Certificate[] = [];
  let unresolved: Failure | undefined;
  let pending = false;
  if (refs.length === 0)
    unresolved = { reason: 'InvalidCertificateRef', message: 'there is no certificate' };
  for (const ref of refs) {
    const { group = '', kind = 'Secret', name } = ref;
    const at = ref.namespace ?? namespace;
    const id = `Secret ${at}/${name}`;
    if (group !== '' || kind !== 'Secret') {
      unresolved ??= {
        reason: 'InvalidCertificateRef',
        message: `certificates of the kind ${kind} are not supported`,
      };
    } else if (
      !grants.allow({
        from: { kind: 'Gateway', namespace },
        to: { group, kind, namespace: at, name },
      })
    ) {
      unresolved ??= {
        reason: 'RefNotPermitted',
        message: `no ReferenceGrant allows the reference to ${id}`,
      };
    } else {
      const secret = objects.secret(at, name);
      if (secret === 'pending') {
        pending = true;
        continue;
      }
      const certificate = secret === undefined ? 'it does not exist' : certificateOf(secret);
      if (typeof certificate === 'string') {
        unresolved ??= { reason: 'InvalidCertificateRef', message: `${id}: ${certificate}` };
      } else certificates.push(certificate);
    }
  }
  return { certificates, unresolved, pending };
}

/** Reports whether routes of the namespace may attach to the listener. */
export function allowsNamespace(
  { allowedRoutes }: Listener,
  gatewayNamespace: string,
  routeNamespace: string,
  namespaceOf: (name: string) => Immutable<Namespace> | undefined,
): boolean {
  const { from = 'Same', selector } = allowedRoutes?.namespaces ?? {};
  switch (from) {
    case 'All':
      return true;
    case 'Same':
      return routeNamespace === gatewayNamespace;
    case 'Selector':
      return labelSelectorAsSelector(selector).matches(
        namespaceOf(routeNamespace)?.metadata.labels ?? {},
      );
    default:
      return false;
  }
}

/**
 * Returns the conditions of a listener. `conflict`: another listener has the same hostname or
 * protocol.
 */
export function listenerConditions(
  { notAccepted, unresolved, certificates, listener, pending }: ListenerState,
  conflict: Failure | undefined,
): DecidedCondition[] {
  const failure = conflict ?? notAccepted;
  const accepted = failure === undefined;
  // One usable certificate is enough for the listener to serve.
  const usable =
    unresolved === undefined || (tlsOf(listener) && certificates.length > 0) || !tlsOf(listener);
  const programmed = accepted && usable && !pending;
  const notProgrammed = pending ? 'Pending' : 'Invalid';
  return [
    condition('Accepted', accepted, failure?.reason ?? 'Accepted', failure?.message),
    condition(
      'Conflicted',
      conflict !== undefined,
      conflict?.reason ?? 'NoConflicts',
      conflict?.message,
    ),
    condition(
      'ResolvedRefs',
      unresolved === undefined,
      unresolved?.reason ?? 'ResolvedRefs',
      unresolved?.message,
    ),
    condition(
      'Programmed',
      programmed,
      programmed ? 'Programmed' : notProgrammed,
      failure?.message ?? unresolved?.message,
    ),
  ];
}
